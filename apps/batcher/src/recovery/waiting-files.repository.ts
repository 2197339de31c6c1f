import {
  bulkExecute,
  bulkQuery,
  CLOCK_STEP_MS,
  databaseNow,
  dialectOf,
  LONGEST_LEASE_MS,
  queryOne,
  queryRows,
  type Database,
  type FileEntity,
} from '#database';

// Said like this, it does not invite the index of claimed files: by old statistics that has none of them, and PostgreSQL would
// compare each file in it with each that is given.
const CLAIMED = "files.status || '' = 'processing'";

/** Files that wait for their job, as the reconciler sees them. */
export class WaitingFiles {
  constructor(private readonly database: Database) {}

  /** The database's time. */
  async now(): Promise<number> {
    const { now } = await this.database.read((manager) =>
      queryOne<{ now: number }>(manager, `SELECT ${databaseNow(dialectOf(manager))} AS now`),
    );
    return Number(now);
  }

  /** Jobs that files wait for, and files whose claim expired: up to `limit` of each. See `QueueFacts`. */
  count(limit: number, enqueuedUntil: number): Promise<Record<'pending' | 'enqueued' | 'expired', number>> {
    return this.database.read(async (manager) => {
      const now = databaseNow(dialectOf(manager));
      const counted = (condition: string, what = '1'): string =>
        `(SELECT count(*) FROM (SELECT ${what} FROM files WHERE removed = 0 AND ${condition} LIMIT $1) AS found)`;
      const jobs = "DISTINCT coalesce(job_id, 'f-' || id)";
      const row = await queryOne<Record<'waiting' | 'claimed' | 'enqueued' | 'expired', number>>(
        manager,
        `SELECT ${counted("status = 'pending'", jobs)} AS waiting, ${counted("status = 'processing'", jobs)} AS claimed,
          ${counted("status = 'pending' AND enqueued_at > 0 AND enqueued_at <= $2", jobs)} AS enqueued,
          ${counted(`status = 'processing' AND claimed_until <= ${now}`)}
            + ${counted(`status = 'processing' AND claimed_until > ${now} + ${LONGEST_LEASE_MS}`)}
            + ${counted(`status = 'pending' AND enqueued_at > ${now} + ${CLOCK_STEP_MS}`)} AS expired`,
        [limit, enqueuedUntil],
      );
      return {
        pending: Number(row.waiting) + Number(row.claimed),
        enqueued: Number(row.enqueued),
        expired: Number(row.expired),
      };
    });
  }

  /** Some of the files that were never enqueued, as `id-revision`. */
  async unsent(limit: number): Promise<string[]> {
    const rows = await this.database.read((manager) =>
      queryRows<{ id: number; revision: number }>(
        manager,
        `SELECT id, revision FROM files WHERE status = 'pending' AND removed = 0 AND enqueued_at = 0
         ORDER BY id LIMIT $1`,
        [limit],
      ),
    );
    return rows.map(({ id, revision }) => `${id}-${revision}`);
  }

  /** Says which job brings each of these files, of those that this worker still holds. */
  async nameJobs(workerId: string, jobs: ReadonlyMap<string, readonly FileEntity[]>): Promise<void> {
    const rows = [...jobs].flatMap(([job, files]) => files.map(({ id, revision }) => [id, revision, job]));
    await this.database.inTransaction((tx) =>
      bulkExecute(
        tx,
        { columns: { id: 'int', revision: 'int', job: 'text' }, rows, alias: 'v', extra: [workerId] },
        (source, [worker]) => `UPDATE files SET job_id = v.job FROM ${source} WHERE files.id = v.id
          AND files.revision = v.revision AND ${CLAIMED} AND files.worker_id = ${worker}`,
      ),
    );
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
          FROM ${source} WHERE files.id = v.id AND files.revision = v.revision AND ${CLAIMED}
            AND files.worker_id = ${worker} RETURNING files.id`,
      ),
    );
  }
}
