import { QUEUE, type AnalysisCompleted } from '#contracts';
import {
  AnalysisEntity,
  bulkExecute,
  bulkQuery,
  databaseNow,
  dialectOf,
  storableText,
  typesOf,
  type BulkSet,
  type Database,
  type EntityManager,
} from '#database';
import { appendAll, Inbox } from '#outbox';
import { faultPoint } from '#service';
import type { StaleFile } from './render-batch.thread.js';
import type { Delivery } from './sink.js';

/** What became of a batch. */
export interface DeliveredBatch extends Pick<Delivery, 'files' | 'stale' | 'result'> {
  id: string;
  /** Of the work that delivered it. */
  trace?: string | undefined;
}

const CONSUMER = 'analyzer';
// A file that was another at so many deliveries in a row is set aside until the next scan.
const RESTLESS = 5;
const AS_NEW = `revision = files.revision + 1, status = 'pending', enqueued_at = 0, claims = 0, claimed_until = NULL,
  worker_id = NULL, job_id = NULL`;
const LIVE = "files.status IN ('batched', 'failed')";

const STALE_PART = typesOf(AnalysisEntity, ['fileId', 'revision', 'part', 'batchId', 'result']);
const STALE = { file_id: 'int', revision: 'int', reason: 'text' } as const;

/**
 * What became of batches, several in one transaction with their inbox entries: the effect of each is recorded once or not at
 * all. The statements read `batch_items`, so that what they are told does not grow with the files of a batch.
 */
export class DeliveryRepository {
  private readonly inbox = new Inbox();

  constructor(private readonly database: Database) {}

  /** Records deliveries. False for one that was recorded before: nothing of it is written then. */
  recordAll(deliveries: readonly DeliveredBatch[]): Promise<boolean[]> {
    return this.database.inTransaction(
      async (tx) => {
        const first = await this.completeIfOpen(tx, await this.unheardOf(tx, deliveries));
        if (first.length > 0) await this.recordEffects(tx, first);
        return deliveries.map((delivery) => first.includes(delivery));
      },
      { ambient: false },
    );
  }

  /** Of two deliveries of a batch that come together, the first counts. */
  private async unheardOf(
    tx: EntityManager,
    deliveries: readonly DeliveredBatch[],
  ): Promise<DeliveredBatch[]> {
    const byId = new Map([...deliveries].reverse().map((delivery) => [delivery.id, delivery]));
    const heard = await this.inbox.recordAll(tx, CONSUMER, [...byId.keys()]);
    return [...byId.values()].filter(({ id }) => heard.has(id));
  }

  /** Inbox entries are purged after a while; the batch itself remembers for good. */
  private async completeIfOpen(
    tx: EntityManager,
    deliveries: readonly DeliveredBatch[],
  ): Promise<DeliveredBatch[]> {
    const rows = deliveries.map(({ id, result }) => [
      id,
      result === undefined ? null : storableText(JSON.stringify(result)),
    ]);
    const open = await bulkQuery<{ id: string }>(
      tx,
      { columns: { id: 'text', answer: 'text' }, rows, alias: 'v' },
      (
        source,
      ) => `UPDATE batches SET completed_at = ${databaseNow(dialectOf(tx))}, answer = v.answer FROM ${source}
        WHERE batches.id = v.id AND batches.completed_at IS NULL RETURNING batches.id`,
    );
    const ids = new Set(open.map(({ id }) => id));
    return deliveries.filter(({ id }) => ids.has(id));
  }

  private async recordEffects(tx: EntityManager, deliveries: readonly DeliveredBatch[]): Promise<void> {
    const ids: BulkSet = { columns: { id: 'text' }, rows: deliveries.map(({ id }) => [id]), alias: 'v' };
    await this.lockSplitFiles(tx, ids);
    await this.recordStale(tx, deliveries);
    await this.recordDelivered(tx, ids);
    await this.markAnalyzed(tx, ids);
    await appendAll(tx, deliveries.map(completedEvent));
    await faultPoint('analyzer.inside-transaction');
  }

  /**
   * Batches that hold parts of one file take turns from here on. Otherwise each of two that end at the same time
   * would see the other as open, and neither would call the file analysed. SQLite has one writer at a time anyway.
   */
  private async lockSplitFiles(tx: EntityManager, ids: BulkSet): Promise<void> {
    if (dialectOf(tx) !== 'postgres') return;
    await bulkQuery(
      tx,
      ids,
      (source) => `SELECT 1 FROM files WHERE id IN (
        SELECT i.file_id FROM ${source} JOIN batch_items i ON i.batch_id = v.id WHERE i.parts > 1)
        ORDER BY id FOR UPDATE`,
    );
  }

  private async recordStale(tx: EntityManager, deliveries: readonly DeliveredBatch[]): Promise<void> {
    const stale = deliveries.flatMap(({ stale }) => stale);
    if (stale.length === 0) return;
    const rows = deliveries.flatMap(({ id, stale }) =>
      stale.map(({ fileId, revision, part, reason }) => [
        ...[fileId, revision, part, id],
        JSON.stringify({ reason }),
      ]),
    );
    const names = Object.keys(STALE_PART).join(', ');
    await bulkExecute(
      tx,
      { columns: STALE_PART, rows, alias: 'v' },
      (source) => `INSERT INTO analyses (${names}, outcome, analyzed_at)
        SELECT ${names}, 'stale', ${databaseNow(dialectOf(tx))} FROM ${source} WHERE true
        ON CONFLICT (file_id, revision, part) DO NOTHING`,
    );
    await this.requeueStale(tx, distinctFiles(stale));
  }

  /** All items of the batches but those that are recorded as stale. */
  private async recordDelivered(tx: EntityManager, ids: BulkSet): Promise<void> {
    await bulkExecute(
      tx,
      ids,
      (source) => `INSERT INTO analyses (file_id, revision, part, batch_id, outcome, analyzed_at)
        SELECT i.file_id, i.revision, i.part, i.batch_id, 'delivered', ${databaseNow(dialectOf(tx))}
        FROM ${source} CROSS JOIN batch_items i WHERE i.batch_id = v.id
        ON CONFLICT (file_id, revision, part) DO NOTHING`,
    );
  }

  /**
   * A file is analysed when no part of this revision is left in a batch that is not completed. A part that was stale
   * has taken the file out of this revision, or out of these states, by now.
   */
  private async markAnalyzed(tx: EntityManager, ids: BulkSet): Promise<void> {
    await bulkExecute(
      tx,
      ids,
      // Materialized, or SQLite may read all files to find these; in the one order in which all lock files.
      (source) => `WITH sent AS MATERIALIZED (
          SELECT i.file_id, i.revision, i.parts FROM ${source} CROSS JOIN batch_items i WHERE i.batch_id = v.id
          ORDER BY i.file_id)
        UPDATE files SET status = 'analyzed', error_status = NULL FROM sent
        WHERE files.id = sent.file_id AND files.revision = sent.revision AND ${LIVE}
          AND (sent.parts = 1 OR NOT EXISTS (SELECT 1 FROM batch_items o JOIN batches b ON b.id = o.batch_id
            WHERE o.file_id = files.id AND o.revision = files.revision AND b.completed_at IS NULL))`,
    );
  }

  /**
   * What changed since it was counted, or whose folder is away, is a new revision that wants to be batched; what cannot be
   * read is skipped, and so is, for this time, what changed each time.
   */
  private async requeueStale(tx: EntityManager, stale: readonly StaleFile[]): Promise<void> {
    const again = "v.reason IN ('changed', 'away')";
    await this.updateStale(tx, stale, "status = 'skipped', skip_reason = v.reason", `NOT ${again}`);
    await this.updateStale(
      tx,
      stale,
      `status = 'skipped', skip_reason = 'changed', error_status = 'it was another at each of ${RESTLESS} deliveries'`,
      `${again} AND (SELECT count(DISTINCT a.revision) FROM analyses a WHERE a.file_id = files.id
        AND a.outcome = 'stale' AND a.revision > files.revision - ${RESTLESS}) >= ${RESTLESS}`,
    );
    await this.updateStale(tx, stale, AS_NEW, again);
    await this.releaseCopies(tx, stale);
  }

  private async updateStale(
    tx: EntityManager,
    stale: readonly StaleFile[],
    set: string,
    guard: string,
  ): Promise<void> {
    const rows = stale.map(({ fileId, revision, reason }) => [fileId, revision, reason]);
    await bulkExecute(
      tx,
      { columns: STALE, rows, alias: 'v' },
      (source) => `UPDATE files SET ${set} FROM ${source}
        WHERE files.id = v.file_id AND files.revision = v.revision AND ${LIVE} AND ${guard}`,
    );
  }

  /** What was skipped as a copy of a file that was not sent after all wants to be looked at again. */
  private async releaseCopies(tx: EntityManager, stale: readonly StaleFile[]): Promise<void> {
    const rows = [...new Set(stale.map(({ fileId }) => fileId))].map((id) => [id]);
    await bulkExecute(
      tx,
      { columns: { file_id: 'int' }, rows, alias: 'v' },
      (source) => `UPDATE files SET ${AS_NEW}, skip_reason = NULL, duplicate_of = NULL FROM ${source}
        WHERE files.duplicate_of = v.file_id AND files.status = 'skipped' AND files.removed = 0`,
    );
  }
}

/** Each file once: of several parts that are stale, the first says why. */
function distinctFiles(stale: readonly StaleFile[]): StaleFile[] {
  const files = new Map([...stale].reverse().map((file) => [`${file.fileId}-${file.revision}`, file]));
  return [...files.values()];
}

function completedEvent({ id, files, trace }: DeliveredBatch): Parameters<typeof appendAll>[1][number] {
  const payload: AnalysisCompleted = { batchId: id, items: files };
  return { queue: QUEUE.analysisCompleted, payload, ...(trace !== undefined && { trace }) };
}
