import { bulkInsert, bulkQuery, dialectOf, type EntityManager } from '#database';

export interface LetterText {
  id: number;
  /** From `searchTextOf`. */
  text: string;
}

/** Stores what a text search looks at, with SQLite's full-text index of it; PostgreSQL indexes the column itself. */
export async function indexLetters(tx: EntityManager, letters: readonly LetterText[]): Promise<void> {
  if (letters.length === 0) return;
  const rows = letters.map(({ id, text }) => [id, text]);
  await bulkInsert(tx, {
    table: 'dead_letter_texts',
    columns: { letter_id: 'int', text: 'text' },
    rows,
    onConflict: '(letter_id) DO UPDATE SET text = excluded.text',
  });
  if (dialectOf(tx) === 'postgres') return;
  const set = { columns: { id: 'int', text: 'text' }, alias: 'v', rows } as const;
  await bulkQuery(
    tx,
    set,
    (source) => `DELETE FROM dead_letter_search WHERE rowid IN (SELECT v.id FROM ${source})`,
  );
  await bulkQuery(
    tx,
    set,
    (source) => `INSERT INTO dead_letter_search (rowid, text) SELECT v.id, v.text FROM ${source}`,
  );
}
