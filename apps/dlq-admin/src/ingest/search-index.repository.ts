import {
  bulkInsert,
  bulkQuery,
  DeadLetterTextEntity,
  dialectOf,
  rowsOf,
  type EntityManager,
} from '#database';

/** `text` is from `searchTextOf`. */
export type LetterText = DeadLetterTextEntity;

/** Stores what a text search looks at, with SQLite's full-text index of it; PostgreSQL indexes the column itself. */
export async function indexLetters(tx: EntityManager, letters: readonly LetterText[]): Promise<void> {
  if (letters.length === 0) return;
  const texts = rowsOf(DeadLetterTextEntity, ['letterId', 'text'], letters);
  await bulkInsert(tx, {
    ...texts,
    onConflict: '(letter_id) DO UPDATE SET text = excluded.text',
  });
  if (dialectOf(tx) === 'postgres') return;
  const set = { ...texts, alias: 'v' };
  await bulkQuery(
    tx,
    set,
    (source) => `DELETE FROM dead_letter_search WHERE rowid IN (SELECT v.letter_id FROM ${source})`,
  );
  await bulkQuery(
    tx,
    set,
    (source) => `INSERT INTO dead_letter_search (rowid, text) SELECT v.letter_id, v.text FROM ${source}`,
  );
}
