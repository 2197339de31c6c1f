import { randomUUID } from 'node:crypto';
import { QUEUE, type BatchFile } from '#contracts';
import { bulkQuery, type Database, databaseNow, dialectOf, execute, type EntityManager } from '#database';
import { append, Inbox } from '#outbox';
import { faultPoint } from '#service';
import type { LoadedBatch, StaleFile } from './batch-reader.js';

export const CONSUMER = 'analyzer';

const ITEM = {
  file_id: 'int',
  revision: 'int',
  part: 'int',
  batch_id: 'text',
  outcome: 'text',
  result: 'text',
} as const;
const REVISION = { file_id: 'int', revision: 'int' } as const;

/** What became of a batch, in one transaction with its inbox entry: the effect is recorded once or not at all. */
export class DeliveryRepository {
  private readonly inbox = new Inbox();

  constructor(private readonly database: Database) {}

  /** Whether the batch's effect is recorded already. */
  async isDelivered(batchId: string): Promise<boolean> {
    const rows = await this.database.read((manager) =>
      manager.query<unknown[]>(
        dialectOf(manager) === 'postgres'
          ? 'SELECT 1 FROM inbox WHERE consumer = $1 AND event_id = $2'
          : 'SELECT 1 FROM inbox WHERE consumer = ? AND event_id = ?',
        [CONSUMER, batchId],
      ),
    );
    return rows.length > 0;
  }

  /** Records the delivery. False when it was recorded before: nothing is written then. */
  async recordOnce(batch: LoadedBatch, result: unknown): Promise<boolean> {
    return this.database.inTransaction(async (tx) => {
      if (!(await this.inbox.record(tx, CONSUMER, batch.id))) return false;
      await this.insertAnalyses(tx, batch, result);
      await execute(tx, `UPDATE batches SET completed_at = ${databaseNow(dialectOf(tx))} WHERE id = $1`, [
        batch.id,
      ]);
      await this.markAnalyzed(
        tx,
        batch.files.map(({ file }) => file),
      );
      await this.requeueStale(tx, batch.stale);
      await append(tx, {
        id: randomUUID(),
        queue: QUEUE.analysisCompleted,
        payload: { batchId: batch.id, items: batch.files.length },
      });
      await faultPoint('analyzer.inside-transaction');
      return true;
    });
  }

  private async insertAnalyses(tx: EntityManager, batch: LoadedBatch, result: unknown): Promise<void> {
    const kept = result === undefined ? null : JSON.stringify(result);
    const row = (file: BatchFile, outcome: string, text: string | null): (string | number | null)[] => [
      file.fileId,
      file.revision,
      file.part,
      batch.id,
      outcome,
      text,
    ];
    const rows = [
      ...batch.files.map(({ file }) => row(file, 'delivered', kept)),
      ...batch.stale.map(({ file, reason }) => row(file, 'stale', JSON.stringify({ reason }))),
    ];
    await bulkQuery(tx, { columns: ITEM, rows, alias: 'v' }, (source) => {
      const names = Object.keys(ITEM).join(', ');
      return `INSERT INTO analyses (${names}, analyzed_at)
        SELECT ${names}, ${databaseNow(dialectOf(tx))} FROM ${source} WHERE true
        ON CONFLICT (file_id, revision, part) DO NOTHING`;
    });
  }

  /** A file is analysed when no part of this revision is left in a batch that is not completed. */
  private async markAnalyzed(tx: EntityManager, files: readonly BatchFile[]): Promise<void> {
    await this.updateRevisions(
      tx,
      files,
      `status = 'analyzed', error_status = NULL`,
      `files.status IN ('batched', 'failed') AND NOT EXISTS (
        SELECT 1 FROM batch_items i JOIN batches b ON b.id = i.batch_id
        WHERE i.file_id = files.id AND i.revision = files.revision AND b.completed_at IS NULL)`,
    );
  }

  /** What changed since it was counted is a new revision that wants to be batched; what is gone is skipped. */
  private async requeueStale(tx: EntityManager, stale: readonly StaleFile[]): Promise<void> {
    const withReason = (wanted: string): BatchFile[] =>
      stale.filter(({ reason }) => reason === wanted).map(({ file }) => file);
    const live = `files.status IN ('batched', 'failed')`;
    await this.updateRevisions(
      tx,
      withReason('changed'),
      `revision = files.revision + 1, status = 'pending', enqueued_at = 0, claims = 0, claimed_until = NULL, worker_id = NULL`,
      live,
    );
    await this.updateRevisions(
      tx,
      withReason('vanished'),
      `status = 'skipped', skip_reason = 'vanished'`,
      live,
    );
  }

  private async updateRevisions(
    tx: EntityManager,
    files: readonly BatchFile[],
    set: string,
    guard: string,
  ): Promise<void> {
    if (files.length === 0) return;
    const distinct = new Map(
      files.map((file) => [`${file.fileId}-${file.revision}`, [file.fileId, file.revision]]),
    );
    await bulkQuery(
      tx,
      { columns: REVISION, rows: [...distinct.values()], alias: 'v' },
      (source) => `UPDATE files SET ${set} FROM ${source}
        WHERE files.id = v.file_id AND files.revision = v.revision AND ${guard} RETURNING files.id`,
    );
  }
}
