// What a trigram index makes entries of; anything else in a text only separates words.
const WORD = /[a-z0-9]+/g;
const WILD = /[\\%_]/;
const PART = /[a-z0-9]+|[\\%_]/g;
// So many characters are rare enough by themselves; the entries for where a word begins and ends are long lists.
const LONG = 5;

/** A LIKE pattern that finds the text literally; the escape character is `\`. */
export const likePattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`;

/** A word with the characters beside it, which tell where it begins and ends. */
const pieceAt = (needle: string, word: string, at: number): string =>
  needle.slice(Math.max(0, at - 1), at + word.length + 1);

/** The words of a text to look for, each with the characters beside it. */
export const piecesOf = (needle: string): string[] =>
  [...needle.matchAll(WORD)].map(({ 0: word, index }) => pieceAt(needle, word, index));

/**
 * A LIKE pattern that fits whatever holds the text, without the words that are common: an index reads long lists for those,
 * and they narrow nothing. Undefined when no other word is left to look up.
 */
export function rarePattern(needle: string, common: ReadonlySet<string>): string | undefined {
  const isCommon = (word: string, at: number): boolean => common.has(pieceAt(needle, word, at));
  const rare = [...needle.matchAll(WORD)].filter(({ 0: word, index }) => !isCommon(word, index));
  const long = rare.map(([word]) => word).filter((word) => word.length >= LONG);
  if (long.length > 0) return `%${long.join('%')}%`;
  if (!rare.some(({ 0: word, index }) => makesEntry(pieceAt(needle, word, index)))) return undefined;
  const kept = needle.replace(PART, (part: string, at: number) =>
    WILD.test(part) ? `\\${part}` : isCommon(part, at) ? '%' : part,
  );
  return `%${kept}%`;
}

/** Three characters are an entry, also with a blank for the end of a word; beyond ASCII the locale decides what is a word. */
const makesEntry = (piece: string): boolean => /^[ -~]{3,}$/.test(piece);
