import { bulkInsert, type EntityManager } from '#database';

interface HistoryDraft {
  letterId: number;
  at: number;
  actor: string;
  event: string;
  details: Record<string, unknown>;
}

export async function appendHistory(tx: EntityManager, entries: readonly HistoryDraft[]): Promise<void> {
  await bulkInsert(tx, {
    table: 'dead_letter_history',
    columns: { letter_id: 'int', at: 'int', actor: 'text', event: 'text', details: 'text' },
    rows: entries.map(({ letterId, at, actor, event, details }) => [
      letterId,
      at,
      actor,
      event,
      JSON.stringify(details),
    ]),
  });
}
