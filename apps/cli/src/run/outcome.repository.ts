import { databaseNow, execute, FOLDER_AWAY, queryOne, type Database } from '#database';
import { CHECKS, skipReasons } from '#proof';

interface Delivered {
  files: number;
  batches: number;
  /** When this was so, by the clock of the database. */
  at: number;
}

const TOP_CAUSES = 3;
const MAX_CAUSE = 200;

/** What was ever delivered. It only grows, whatever becomes of the files, so that a difference is what a run has done. */
export function deliveredSoFar(database: Database): Promise<Delivered> {
  const sql = `SELECT count(CASE WHEN part = 1 THEN 1 END) AS files, count(DISTINCT batch_id) AS batches,
    ${databaseNow(database.dialect)} AS at FROM analyses WHERE outcome = 'delivered'`;
  return database.read((manager) => queryOne<Delivered>(manager, sql));
}

export type Outcome = Awaited<ReturnType<typeof outcomeSince>>;

/** What a run has done since, and what it has not. */
export async function outcomeSince(database: Database, before: Delivered) {
  const now = await deliveredSoFar(database);
  return {
    delivered: { files: now.files - before.files, batches: now.batches - before.batches },
    touched: await touchedSince(database, before.at),
    skipped: await skipReasons(database),
    causes: await failureCauses(database),
    waiting: await waitingForFolder(database),
  };
}

/** Files that were looked at since then and found as they were sent: a job was made for the revision, and no batch. */
async function touchedSince(database: Database, since: number): Promise<number> {
  const sql = `SELECT count(*) AS n FROM files
    WHERE removed = 0 AND status = 'analyzed' AND sent_revision < revision AND enqueued_at >= $1`;
  const [{ n } = { n: 0 }] = await database.rows<{ n: number }>(sql, [since]);
  return n;
}

/** Why files failed, the most frequent first, in the words of the newest letter. The job of a batch is named after its event. */
export function failureCauses(database: Database): Promise<{ cause: string; files: number }[]> {
  return database.rows(
    `SELECT substr(g.error_name || ': ' || coalesce(g.newest, g.message), 1, ${MAX_CAUSE}) AS cause,
       CAST(sum(coalesce(b.item_count, 1)) AS bigint) AS files
     FROM dead_letters l JOIN dead_letter_groups g ON g.fingerprint = l.fingerprint
     LEFT JOIN batches b ON b.id = substr(l.job_id, 3) AND substr(l.job_id, 1, 2) = 'e-'
     WHERE l.status = 'open' GROUP BY g.fingerprint, g.error_name, g.newest, g.message
     ORDER BY 2 DESC, 1 LIMIT ${TOP_CAUSES}`,
  );
}

/** How many files wait for a folder that is away, and the first of them. */
function waitingForFolder(database: Database): Promise<{ files: number; path: string | null }> {
  const sql = `SELECT count(*) AS files, min(path) AS path FROM files
    WHERE removed = 0 AND status = 'pending' AND error_status = '${FOLDER_AWAY}'`;
  return database.read((manager) => queryOne(manager, sql));
}

const UNTOLD = CHECKS.find(({ name }) => name === 'failed-with-letter')?.violations ?? '';

const OFFERED_AGAIN = `SELECT f.id FROM files f WHERE f.removed = 0 AND f.status = 'failed' AND (
    EXISTS (SELECT 1 FROM dead_letters d WHERE d.job_id = 'f-' || f.id || '-' || f.revision AND d.status = 'requeued')
    OR EXISTS (SELECT 1 FROM batch_items i JOIN dead_letters d ON d.job_id = 'e-' || i.batch_id AND d.status = 'requeued'
      WHERE i.file_id = f.id AND i.revision = f.revision))`;

/** Whether a file has failed and its dead letter is not there yet, or was offered again and has not come to an end. */
export async function failureOnItsWay(database: Database): Promise<boolean> {
  for (const found of [UNTOLD, OFFERED_AGAIN])
    if ((await database.rows(`${found} LIMIT 1`)).length > 0) return true;
  return false;
}

/** Files that failed and whose letter was lost with the Redis of the run before: they are tried again. Returns how many. */
export function retryUntold(database: Database): Promise<number> {
  return database.inTransaction((tx) =>
    execute(
      tx,
      `UPDATE files SET status = 'pending', enqueued_at = 0, error_status = NULL
       WHERE id IN (SELECT id FROM (${UNTOLD}) AS untold)`,
    ),
  );
}
