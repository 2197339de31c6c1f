import { bulkExecute, queryRows, databaseNow, dialectOf, type Database, type EntityManager } from '#database';
import type { QueueableFile } from './registration.js';

interface Row {
  id: number;
  revision: number;
  path: string;
  path_bytes: string | null;
  size: number;
  ctime_ns: string;
}

/** Which files have had their job. */
export class QueueableRows {
  constructor(private readonly database: Database) {}

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
    return rows.map(({ id, revision, path, path_bytes, size, ctime_ns }) => ({
      id,
      revision,
      path,
      pathBytes: path_bytes,
      size,
      ctimeNs: ctime_ns,
    }));
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
