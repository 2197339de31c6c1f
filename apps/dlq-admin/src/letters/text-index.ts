import { dialectOf, queryRows, type Dialect, type EntityManager } from '#database';
import { needlesOf, whereOf, type Criteria } from './criteria.js';
import type { Where } from './where.js';

/** What follows FROM to read letters as `d`, and the WITH that it needs. */
type Source = Record<'with' | 'from', string>;

/** Of each list one text must be in what is found. */
type Needles = readonly string[][];

const SAMPLE = 32;

/** The letters that meet the criteria; those whose text must match are found through the index of either database. */
export async function matching(tx: EntityManager, criteria: Criteria): Promise<Source & { where: Where }> {
  const where = whereOf(criteria, dialectOf(tx));
  const needles = needlesOf(criteria.filter);
  if (needles.length === 0) return { with: '', from: 'dead_letters d', where };
  const isSqlite = dialectOf(tx) === 'sqlite';
  const source = isSqlite
    ? byFullText(needles, where)
    : byTrigrams(needles, where, await commonPieces(tx, needles));
  return { ...source, where };
}

function byFullText(needles: Needles, where: Where): Source {
  const query = needles.map((any) => `(${any.map(phrase).join(' OR ')})`).join(' AND ');
  return {
    with: '',
    // CROSS JOIN keeps the order of the tables: the few matches drive, not the many letters.
    from: `(SELECT rowid AS id FROM dead_letter_search WHERE dead_letter_search MATCH ${where.param(query)}) AS m
      CROSS JOIN dead_letters d ON d.id = m.id`,
  };
}

const phrase = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function byTrigrams(needles: Needles, where: Where, common: ReadonlySet<string>): Source {
  const looked = indexPatterns(needles, common).map((any) => likeAny(any, where));
  const checked = needles.map((any) => holdsAny('postgres', 't.text', any, where));
  // Materialised, so that the planner cannot walk the letters by time instead, hoping for a match soon.
  return {
    with: `WITH m AS MATERIALIZED (
      SELECT t.letter_id AS id FROM dead_letter_texts t WHERE ${[...looked, ...checked].join(' AND ')})`,
    from: 'm JOIN dead_letters d ON d.id = m.id',
  };
}

/** The lists by which letters are looked up: those without a rare word in each of their texts only if there are no others. */
function indexPatterns(needles: Needles, common: ReadonlySet<string>): string[][] {
  const rare = needles.flatMap((any) => {
    const patterns = any.flatMap((needle) => rarePattern(needle, common) ?? []);
    return patterns.length === any.length ? [patterns] : [];
  });
  return rare.length > 0 ? rare : needles.map((any) => any.map(likePattern));
}

/** Of the words of the needles, those that more than a quarter of the letters hold, by a few letters of all ages. */
async function commonPieces(manager: EntityManager, needles: Needles): Promise<ReadonlySet<string>> {
  const pieces = [...new Set(needles.flat().flatMap(piecesOf))];
  const common = await queryRows<{ piece: string }>(
    manager,
    `WITH sample AS MATERIALIZED (
       SELECT near.text FROM generate_series(0, ${SAMPLE - 1}) AS step (n)
       CROSS JOIN LATERAL (SELECT t.text FROM dead_letter_texts t
         WHERE t.letter_id >= step.n * (SELECT max(letter_id) FROM dead_letter_texts) / ${SAMPLE}
         ORDER BY t.letter_id LIMIT 1) AS near)
     SELECT p.piece FROM unnest($1::text[]) AS p (piece) JOIN sample ON strpos(sample.text, p.piece) > 0
     GROUP BY p.piece HAVING count(*) * 4 > (SELECT count(*) FROM sample)`,
    [pieces],
  );
  return new Set(common.map(({ piece }) => piece));
}

function likeAny(patterns: readonly string[], where: Where): string {
  return `(${patterns.map((pattern) => `t.text LIKE ${where.param(pattern)} ESCAPE '\\'`).join(' OR ')})`;
}

/** Whether the column holds one of the texts, looked at row by row: no planner takes an index for it. */
export function holdsAny(dialect: Dialect, column: string, texts: readonly string[], where: Where): string {
  const find = dialect === 'postgres' ? 'strpos' : 'instr';
  return `(${texts.map((text) => `${find}(${column}, ${where.param(text)}) > 0`).join(' OR ')})`;
}

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
