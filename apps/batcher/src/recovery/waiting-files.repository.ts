import { bulkQuery, databaseNow, dialectOf, queryOne, type Database, type FileEntity } from '#database';

/** Files that wait for their job, as the reconciler sees them. */
export class WaitingFiles {
  constructor(private readonly database: Database) {}

  /** Up to `limit`: how many more there are does not matter. */
  async count(limit: number): Promise<number> {
    const { n } = await this.database.read((manager) =>
      queryOne<{ n: number }>(
        manager,
        `SELECT (SELECT count(*) FROM (SELECT 1 FROM files WHERE status = 'pending' AND removed = 0 LIMIT $1) AS p)
           + (SELECT count(*) FROM (SELECT 1 FROM files WHERE status = 'processing' AND removed = 0 LIMIT $1) AS c) AS n`,
        [limit],
      ),
    );
    return Number(n);
  }

  /**
   * Ends claims that this worker still holds: the files wait again, their jobs enqueued just now, or have failed. Whatever
   * became of a file meanwhile stays.
   */
  async endClaims(
    workerId: string,
    files: readonly FileEntity[],
    statusOf: (file: FileEntity) => 'pending' | 'failed',
  ): Promise<void> {
    const rows = files.map((file) => [file.id, file.revision, statusOf(file)]);
    await this.database.inTransaction((tx) =>
      bulkQuery(
        tx,
        { columns: { id: 'int', revision: 'int', status: 'text' }, rows, alias: 'v', extra: [workerId] },
        (
          source,
          [worker],
        ) => `UPDATE files SET status = v.status, worker_id = NULL, claimed_until = NULL, claims = 0,
            error_status = CASE WHEN v.status = 'failed' THEN 'its job failed for good; see its dead letter'
              ELSE files.error_status END,
            enqueued_at = ${databaseNow(dialectOf(tx))}
          FROM ${source} WHERE files.id = v.id AND files.revision = v.revision AND files.status = 'processing'
            AND files.worker_id = ${worker} RETURNING files.id`,
      ),
    );
  }
}
