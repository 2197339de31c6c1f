import { bulkQuery, databaseNow, isIn, listOf, queryRows, type Database } from '#database';
import { jobIdOf } from './event.js';
import { wakePublishers } from './postgres-wake-up.js';

/** A published event that no consumer's inbox has yet. */
export interface UnconfirmedEvent {
  id: string;
  queue: string;
  publishedAt: number;
  /** Milliseconds since it was published, by the database's clock. */
  ageMs: number;
  /** How often it was published again already. */
  republished: number;
}

/** Where a walk through the unconfirmed events stands. */
export type Position = Pick<UnconfirmedEvent, 'publishedAt' | 'id'>;

/**
 * What becomes of published events whose consumer confirms them by its inbox. Settled is what an inbox has, or what a dead
 * letter answers for; what is neither, and no longer in its queue, was lost by the broker and is offered again.
 */
export class UnconfirmedEvents {
  constructor(private readonly database: Database) {}

  /** A page of the walk, oldest first. */
  async page(after: Position | undefined, limit: number): Promise<UnconfirmedEvent[]> {
    const { publishedAt = 0, id = '' } = after ?? {};
    return this.database.rows<UnconfirmedEvent>(
      `SELECT id, queue, published_at AS "publishedAt", republished,
           ${databaseNow(this.database)} - published_at AS "ageMs"
         FROM outbox WHERE status = 'PUBLISHED' AND confirmed_at IS NULL AND (published_at, id) > ($1, $2)
         ORDER BY published_at, id LIMIT $3`,
      [publishedAt, id, limit],
    );
  }

  /** Marks those confirmed that an inbox or a dead letter has; returns their ids. */
  settle(ids: readonly string[]): Promise<Set<string>> {
    return this.confirm(ids, ANSWERED);
  }

  /**
   * Marks those confirmed whose payload names, as its `id`, what an inbox has: a requeued batch is a new event of a batch
   * that keeps its id. Payloads can be large, so this is asked only of events about to be published again.
   */
  async settleByPayload(ids: readonly string[]): Promise<Set<string>> {
    const settled: string[] = [];
    for (let at = 0; at < ids.length; at += PAYLOADS_PER_QUERY)
      settled.push(...(await this.receivedByPayload(ids.slice(at, at + PAYLOADS_PER_QUERY))));
    return this.confirm(settled);
  }

  /** Offers lost events to publishers again, under the same id. Returns how many; one confirmed meanwhile is left alone. */
  async offerAgain(events: readonly UnconfirmedEvent[]): Promise<number> {
    if (events.length === 0) return 0;
    const columns = { id: 'text', republished: 'int' } as const;
    const seen = events.map(({ id, republished }) => [id, republished]);
    const rows = await this.database.inTransaction(async (tx) => {
      const offered = await bulkQuery(tx, { columns, alias: 'v', rows: seen }, offerAgainSql);
      await wakePublishers(tx);
      return offered;
    });
    return rows.length;
  }

  private async confirm(ids: readonly string[], where = 'true'): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const confirmed = await this.database.inTransaction((tx) =>
      queryRows<{ id: string }>(
        tx,
        `UPDATE outbox SET confirmed_at = ${databaseNow(tx)}
         WHERE status = 'PUBLISHED' AND confirmed_at IS NULL AND id ${isIn(tx, 1)} AND ${where} RETURNING id`,
        [listOf(tx, ids)],
      ),
    );
    return new Set(confirmed.map(({ id }) => id));
  }

  private receivedByPayload(ids: readonly string[]): Promise<string[]> {
    return this.database.read(async (manager) => {
      const rows = await queryRows<{ id: string; payload: string }>(
        manager,
        `SELECT id, payload FROM outbox WHERE id ${isIn(manager, 1)}`,
        [listOf(manager, ids)],
      );
      const named = rows.map(({ id, payload }) => ({ id, subject: subjectOf(payload) }));
      const subjects = named.map(({ subject }) => subject).filter((subject) => subject !== '');
      const received = await queryRows<{ event_id: string }>(
        manager,
        `SELECT DISTINCT event_id FROM inbox WHERE event_id ${isIn(manager, 1)}`,
        [listOf(manager, subjects)],
      );
      const known = new Set(received.map(({ event_id }) => event_id));
      return named.filter(({ subject }) => known.has(subject)).map(({ id }) => id);
    });
  }
}

const PAYLOADS_PER_QUERY = 20;
const JOB_ID = `'${jobIdOf('')}' || outbox.id`;

/** SQL for "an inbox has it, or a dead letter answers for it". A requeued letter does not: its new event may yet be lost. */
const ANSWERED = `(EXISTS (SELECT 1 FROM inbox i WHERE i.event_id = outbox.id)
  OR EXISTS (SELECT 1 FROM dead_letters d WHERE d.queue = outbox.queue AND d.job_id = ${JOB_ID})
  OR EXISTS (SELECT 1 FROM dead_letters d WHERE d.replay_job_id = ${JOB_ID} AND d.status <> 'requeued'))`;

/**
 * (id, republished) → those that are pending again. The inbox is asked once more: it may have the event by now; and what
 * another publisher offered again meanwhile is left to it.
 */
const offerAgainSql = (source: string): string => `UPDATE outbox
  SET status = 'PENDING', published_at = NULL, republished = outbox.republished + 1, attempts = 0, available_at = 0,
    claimed_by = NULL, claimed_until = 0
  FROM ${source} WHERE outbox.id = v.id AND outbox.republished = v.republished
    AND status = 'PUBLISHED' AND confirmed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.event_id = outbox.id) RETURNING outbox.id`;

function subjectOf(payload: string): string {
  try {
    const { id } = JSON.parse(payload) as { id?: unknown };
    return typeof id === 'string' ? id : '';
  } catch {
    return '';
  }
}
