import { bulkQuery, dialectOf, type EntityManager } from '#database';

/** Brings SQLite's full-text index up to date with the letters' search text. PostgreSQL indexes the column itself. */
export async function indexLetters(tx: EntityManager, ids: readonly number[]): Promise<void> {
  if (dialectOf(tx) === 'postgres' || ids.length === 0) return;
  const set = { columns: { id: 'int' }, alias: 'v', rows: ids.map((id) => [id]) } as const;
  await bulkQuery(
    tx,
    set,
    (source) => `DELETE FROM dead_letter_search WHERE rowid IN (SELECT v.id FROM ${source})`,
  );
  await bulkQuery(
    tx,
    set,
    (source) => `INSERT INTO dead_letter_search (rowid, text)
      SELECT d.id, d.search_text FROM dead_letters d JOIN ${source} ON v.id = d.id`,
  );
}
