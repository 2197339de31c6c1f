import { bulkInsert, DeadLetterHistoryEntity, rowsOf, type EntityManager } from '#database';

type HistoryDraft = Omit<DeadLetterHistoryEntity, 'id'>;

const COLUMNS = ['letterId', 'at', 'actor', 'event', 'details'] as const;

export async function appendHistory(tx: EntityManager, entries: readonly HistoryDraft[]): Promise<void> {
  const rows = entries.map((entry) => ({ ...entry, details: JSON.stringify(entry.details) }));
  await bulkInsert(tx, rowsOf(DeadLetterHistoryEntity, COLUMNS, rows));
}
