import { bulkInsert, bulkQuery, dialectOf, rowsOf, type EntityManager } from '#database';
import { DeadLetterHistoryEntity, DeadLetterTextEntity } from '#database';

type HistoryDraft = Omit<DeadLetterHistoryEntity, 'id'>;

const COLUMNS = ['letterId', 'at', 'actor', 'event', 'details'] as const;

export async function appendHistory(tx: EntityManager, entries: readonly HistoryDraft[]): Promise<void> {
  const rows = entries.map((entry) => ({ ...entry, details: JSON.stringify(entry.details) }));
  await bulkInsert(tx, rowsOf(DeadLetterHistoryEntity, COLUMNS, rows));
}

/** `text` is from `searchTextOf`. */
export type LetterText = DeadLetterTextEntity;

/** Stores what a text search looks at, with SQLite's full-text index of it; PostgreSQL indexes the column itself. */
export async function indexLetters(tx: EntityManager, letters: readonly LetterText[]): Promise<void> {
  if (letters.length === 0) return;
  const texts = rowsOf(DeadLetterTextEntity, ['letterId', 'text'], letters);
  await bulkInsert(tx, { ...texts, onConflict: '(letter_id) DO UPDATE SET text = excluded.text' });
  if (dialectOf(tx) === 'postgres') return;
  const run = (sql: (source: string) => string) => bulkQuery(tx, { ...texts, alias: 'v' }, sql);
  await run((source) => `DELETE FROM dead_letter_search WHERE rowid IN (SELECT v.letter_id FROM ${source})`);
  await run(
    (source) => `INSERT INTO dead_letter_search (rowid, text) SELECT v.letter_id, v.text FROM ${source}`,
  );
}
