import { QUEUE, type BatchFile, type AnalysisCompleted } from '#contracts';
import {
  bulkExecute,
  bulkQuery,
  type Database,
  databaseNow,
  dialectOf,
  execute,
  queryRows,
  storableText,
  type EntityManager,
} from '#database';
import { append, Inbox } from '#outbox';
import { faultPoint } from '#service';
import type { LoadedBatch, StaleFile } from './batch-reader.js';

const CONSUMER = 'analyzer';
// A file that was another at so many deliveries in a row is set aside until the next scan.
const RESTLESS = 5;
const AS_NEW = `revision = files.revision + 1, status = 'pending', enqueued_at = 0, claims = 0, claimed_until = NULL,
  worker_id = NULL`;

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

  /** Whether the batch waits for its effect, has had it, or was never committed here. */
  async stateOf(batchId: string): Promise<'open' | 'delivered' | 'unknown'> {
    const [row] = await this.database.read((manager) =>
      queryRows<{ completed_at: number | null }>(manager, 'SELECT completed_at FROM batches WHERE id = $1', [
        batchId,
      ]),
    );
    if (!row) return 'unknown';
    return row.completed_at === null ? 'open' : 'delivered';
  }

  /** Records the delivery. False when it was recorded before: nothing is written then. */
  async recordOnce(batch: LoadedBatch, result: unknown): Promise<boolean> {
    return this.database.inTransaction(async (tx) => {
      if (!(await this.inbox.record(tx, CONSUMER, batch.id))) return false;
      if (!(await this.completeIfOpen(tx, batch.id, result))) return false;
      await this.lockFiles(tx, batch);
      const files = batch.files.map(({ file }) => file);
      const completed: AnalysisCompleted = { batchId: batch.id, items: files.length };
      await this.insertAnalyses(tx, batch);
      await this.markAnalyzed(tx, files);
      await this.requeueStale(tx, batch.stale);
      await append(tx, { queue: QUEUE.analysisCompleted, payload: completed });
      await faultPoint('analyzer.inside-transaction');
      return true;
    });
  }

  /** Inbox entries are purged after a while; the batch itself remembers for good. */
  private async completeIfOpen(tx: EntityManager, batchId: string, answer: unknown): Promise<boolean> {
    const now = databaseNow(dialectOf(tx));
    return (
      (await execute(
        tx,
        `UPDATE batches SET completed_at = ${now}, answer = $2 WHERE id = $1 AND completed_at IS NULL`,
        [batchId, answer === undefined ? null : storableText(JSON.stringify(answer))],
      )) === 1
    );
  }

  /**
   * Batches that hold parts of one file take turns from here on. Otherwise each of two that end at the same time
   * would see the other as open, and neither would call the file analysed. SQLite has one writer at a time anyway.
   */
  private async lockFiles(tx: EntityManager, { files, stale }: LoadedBatch): Promise<void> {
    if (dialectOf(tx) !== 'postgres') return;
    const ids = [...files, ...stale].map(({ file }) => file.fileId);
    await queryRows(tx, 'SELECT id FROM files WHERE id = ANY($1) ORDER BY id FOR UPDATE', [ids]);
  }

  private async insertAnalyses(tx: EntityManager, batch: LoadedBatch): Promise<void> {
    const row = (file: BatchFile, outcome: string, text: string | null): (string | number | null)[] => [
      file.fileId,
      file.revision,
      file.part,
      batch.id,
      outcome,
      text,
    ];
    const rows = [
      ...batch.files.map(({ file }) => row(file, 'delivered', null)),
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

  /**
   * What changed since it was counted, or whose folder is away, is a new revision that wants to be batched; what cannot be
   * read is skipped, and so is, for this time, what changed each time.
   */
  private async requeueStale(tx: EntityManager, stale: readonly StaleFile[]): Promise<void> {
    const live = `files.status IN ('batched', 'failed')`;
    const [again, skipped] = partition(stale, ({ reason }) => reason === 'changed' || reason === 'away');
    await this.updateRevisions(
      tx,
      again.map(({ file }) => file),
      `status = 'skipped', skip_reason = 'changed', error_status = 'it was another at each of ${RESTLESS} deliveries'`,
      `${live} AND (SELECT count(DISTINCT a.revision) FROM analyses a WHERE a.file_id = files.id
        AND a.outcome = 'stale' AND a.revision > files.revision - ${RESTLESS}) >= ${RESTLESS}`,
    );
    await this.updateRevisions(
      tx,
      again.map(({ file }) => file),
      AS_NEW,
      live,
    );
    await this.releaseCopies(tx, stale);
    for (const { file, reason } of skipped)
      await this.updateRevisions(tx, [file], `status = 'skipped', skip_reason = '${reason}'`, live);
  }

  /** What was skipped as a copy of a file that was not sent after all wants to be looked at again. */
  private async releaseCopies(tx: EntityManager, stale: readonly StaleFile[]): Promise<void> {
    const rows = [...new Set(stale.map(({ file }) => file.fileId))].map((id) => [id]);
    await bulkExecute(
      tx,
      { columns: { file_id: 'int' }, rows, alias: 'v' },
      (source) => `UPDATE files SET ${AS_NEW}, skip_reason = NULL, duplicate_of = NULL FROM ${source}
        WHERE files.duplicate_of = v.file_id AND files.status = 'skipped' AND files.removed = 0`,
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
    await bulkExecute(
      tx,
      { columns: REVISION, rows: [...distinct.values()], alias: 'v' },
      (source) => `UPDATE files SET ${set} FROM ${source}
        WHERE files.id = v.file_id AND files.revision = v.revision AND ${guard}`,
    );
  }
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
