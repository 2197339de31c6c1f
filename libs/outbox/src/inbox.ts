import { databaseNow, dialectOf, queryRows, type EntityManager } from '#database';
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
    requireTransaction(tx, 'Inbox.record');
    const written = await queryRows(
      tx,
      `INSERT INTO inbox (consumer, event_id, received_at) VALUES ($1, $2, ${databaseNow(dialectOf(tx))})
       ON CONFLICT (consumer, event_id) DO NOTHING RETURNING event_id`,
      [consumer, eventId],
    );
    return written.length === 1;
  }
}
