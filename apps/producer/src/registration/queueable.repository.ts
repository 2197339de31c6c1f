import { bulkExecute, queryRows, databaseNow, dialectOf, type Database, type EntityManager } from '#database';
import { shareJobs } from '../file-jobs.js';
import type { QueueableFile } from './registration.js';

type Row = Pick<QueueableFile, 'id' | 'revision' | 'path' | 'size'> & {
  path_bytes: string | null;
  ctime_ns: string;
};

/** Which files have had their job. */
export class QueueableRows {
  constructor(
    private readonly database: Database,
    private readonly filesPerJob: number,
  ) {}

  /** Files of the root that wait and never had a job, in order of id: what a crash left between commit and queue. */
  async withoutJob(rootId: number, afterId: number, limit: number): Promise<QueueableFile[]> {
    const rows = await this.database.read((manager) =>
      queryRows<Row>(
        manager,
        `SELECT id, revision, path, path_bytes, size, ctime_ns FROM files
         WHERE status = 'pending' AND removed = 0 AND enqueued_at = 0 AND id > $2 AND root_id = $1
         ORDER BY id LIMIT $3`,
        [rootId, afterId, limit],
      ),
    );
    const jobs = shareJobs(rows, this.filesPerJob);
    return rows.map(({ path_bytes: pathBytes, ctime_ns: ctimeNs, ...row }, at) => ({
      ...row,
      pathBytes,
      ctimeNs,
      jobId: jobs[at] ?? null,
    }));
  }

  /** Whatever job these files were of: it was lost, or others of it are elsewhere by now. */
  async nameJobs(tx: EntityManager, files: readonly QueueableFile[]): Promise<void> {
    await bulkExecute(
      tx,
      {
        alias: 'v',
        columns: { id: 'int', revision: 'int', job: 'text' },
        rows: files.map(({ id, revision, jobId }) => [id, revision, jobId]),
      },
      (source) => `UPDATE files SET job_id = v.job FROM ${source}
         WHERE files.id = v.id AND files.revision = v.revision AND files.status = 'pending' AND files.enqueued_at = 0`,
    );
  }

  /** By the database's clock, as recovery judges it: a producer's that is ahead would keep lost jobs lost. */
  async markEnqueued(tx: EntityManager, files: readonly QueueableFile[]): Promise<void> {
    const now = databaseNow(dialectOf(tx));
    await bulkExecute(
      tx,
      {
        alias: 'v',
        columns: { id: 'int', revision: 'int' },
        rows: files.map(({ id, revision }) => [id, revision]),
      },
      (source) =>
        `UPDATE files SET enqueued_at = ${now} FROM ${source}
         WHERE files.id = v.id AND files.revision = v.revision AND files.enqueued_at < ${now}`,
    );
  }
}
