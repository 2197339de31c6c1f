// What a trigram index makes entries of; anything else in a text only separates words.
const WORD = /[a-z0-9]+/g;
// So many characters are rare enough by themselves; the entries for where a word begins and ends are long lists.
const LONG = 5;

/** A LIKE pattern that finds the text literally; the escape character is `\`. */
export function likePattern(text: string): string {
  return `%${literal(text)}%`;
}

const literal = (text: string): string => text.replace(/[\\%_]/g, (character) => `\\${character}`);

interface Word {
  word: string;
  at: number;
  /** The word with the characters beside it, which tell where it begins and ends. */
  piece: string;
}

function wordsOf(needle: string): Word[] {
  return [...needle.matchAll(WORD)].map(({ 0: word, index: at }) => ({
    word,
    at,
    piece: needle.slice(Math.max(0, at - 1), at + word.length + 1),
  }));
}

/** The words of a text to look for, each with the characters beside it. */
export const piecesOf = (needle: string): string[] => wordsOf(needle).map(({ piece }) => piece);

/**
 * A LIKE pattern that fits whatever holds the text, without the words that are common: an index reads long lists for those,
 * and they narrow nothing. Undefined when no other word is left to look up.
 */
export function rarePattern(needle: string, common: ReadonlySet<string>): string | undefined {
  const words = wordsOf(needle);
  const rare = words.filter(({ piece }) => !common.has(piece));
  const long = rare.filter(({ word }) => word.length >= LONG);
  if (long.length > 0) return `%${long.map(({ word }) => word).join('%')}%`;
  return rare.some(makesEntry)
    ? without(
        needle,
        words.filter(({ piece }) => common.has(piece)),
      )
    : undefined;
}

/** Three characters are an entry, also with a blank for the end of a word; beyond ASCII the locale decides what is a word. */
const makesEntry = ({ piece }: Word): boolean => /^[ -~]{3,}$/.test(piece);

function without(needle: string, words: readonly Word[]): string {
  let pattern = '%';
  let from = 0;
  for (const { word, at } of words) {
    pattern += `${literal(needle.slice(from, at))}%`;
    from = at + word.length;
  }
  return `${pattern}${literal(needle.slice(from))}%`;
}
