import { bulkQuery, columnsOf, databaseNow, InboxEntryEntity, rowsOf, type EntityManager } from '#database';
import { requireTransaction } from './append.js';

/**
 * Makes the effect of an event happen once, however often it is delivered: the entry is written in the transaction of the
 * effect, and a second one is refused by its key.
 */
export class Inbox {
  /**
   * Whether this is the first time that the consumer has the event. False: its effect is committed already, write
   * nothing more. A concurrent delivery waits here until the other one has committed or rolled back.
   */
  async record(tx: EntityManager, consumer: string, eventId: string): Promise<boolean> {
    return (await this.recordAll(tx, consumer, [eventId])).has(eventId);
  }

  /** Like `record` for many, in one statement: those that the consumer has for the first time. */
  async recordAll(tx: EntityManager, consumer: string, eventIds: readonly string[]): Promise<Set<string>> {
    requireTransaction(tx, 'Inbox.record');
    // In one order for all processes, so that two that have the same events do not wait for each other.
    const rows = [...eventIds].sort().map((eventId) => ({ eventId }));
    const written = await bulkQuery<Pick<InboxEntryEntity, 'eventId'>>(
      tx,
      { ...rowsOf(InboxEntryEntity, ['eventId'], rows), alias: 'v', extra: [consumer] },
      (source, [name]) => `INSERT INTO inbox (consumer, event_id, received_at)
        SELECT ${name}, v.event_id, ${databaseNow(tx)} FROM ${source} WHERE true
        ON CONFLICT (consumer, event_id) DO NOTHING RETURNING ${columnsOf<InboxEntryEntity>(['eventId'])}`,
    );
    return new Set(written.map(({ eventId }) => eventId));
  }
}
