// Test-only: what a scan would have left behind, made directly. Used by tests and benchmarks of the batcher.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FILE_JOB, isList, newListJobId, QUEUE, type FileJob, type JobFile } from '#contracts';
import { bulkExecute, bulkInsertReturning, Database, execute, queryOne, queryRows } from '#database';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';

export interface Registered {
  id: number;
  revision: number;
  path: string;
  size: number;
}

const COLUMNS = {
  root_id: 'int',
  folder_id: 'int',
  name: 'text',
  path: 'text',
  size: 'int',
  mtime_ns: 'text',
  ctime_ns: 'text',
  inode: 'text',
  first_scanned_at: 'int',
  last_scanned_at: 'int',
  last_scan_id: 'int',
} as const;

/** Writes files, given by name and content, below a folder. Returns their paths. */
export function writeTree(root: string, files: Readonly<Record<string, string | Buffer>>): string[] {
  // One by one: thousands at once would want more open files than a process may have.
  return Object.entries(files).map(([name, content]) => {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  });
}

export async function openDatabase(url: string): Promise<Database> {
  const database = new Database({ url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  return database;
}

/** The paths as pending files that were never enqueued; all in one folder's row, which nobody here looks at. */
export function registerFiles(database: Database, paths: readonly string[]): Promise<Registered[]> {
  return database.inTransaction(async (tx) => {
    await execute(
      tx,
      "INSERT INTO roots (path, path_key, created_at) VALUES ('/', '/', 0) ON CONFLICT DO NOTHING",
    );
    const root = await queryOne<{ id: number }>(tx, 'SELECT id FROM roots');
    await execute(
      tx,
      `INSERT INTO folders (root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id)
       VALUES ($1, '/', '/', 0, 0, 0, 1) ON CONFLICT DO NOTHING`,
      [root.id],
    );
    const folder = await queryOne<{ id: number }>(tx, 'SELECT id FROM folders');
    const rows = paths.map((path) => [
      ...[root.id, folder.id, path, path, sizeOf(path)],
      ...['0', '0', '0', 1, 1, 1],
    ]);
    const found = await bulkInsertReturning<Registered>(
      tx,
      { table: 'files', columns: COLUMNS, rows },
      'id, revision, path, size',
    );
    return found.map((row) => ({ ...row, id: Number(row.id), size: Number(row.size) }));
  });
}

/** 0 for what cannot be looked at: tests register that too. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

export function fileJobOf({ id, revision, path, size }: Registered): { jobId: string; payload: JobFile } {
  return {
    jobId: `f-${id}-${revision}`,
    payload: { filePath: path, fileSize: size, fileId: id, revision },
  };
}

/** The files in jobs of so many: with 1, each in the form of the seed, under an id of its own. */
export async function enqueueFiles(
  queues: QueueManager,
  database: Database,
  files: readonly Registered[],
  filesPerJob = 1,
): Promise<string[]> {
  const jobs = jobsOf(files, filesPerJob);
  await nameJobs(database, jobs);
  await queues.enqueueJobs(QUEUE.filesToBatch, FILE_JOB, jobs);
  await database.inTransaction((tx) =>
    execute(tx, `UPDATE files SET enqueued_at = ${Date.now()} WHERE enqueued_at = 0`),
  );
  return jobs.map(({ jobId }) => jobId);
}

export function jobsOf(
  files: readonly Registered[],
  filesPerJob: number,
): { jobId: string; payload: FileJob }[] {
  if (filesPerJob === 1) return files.map(fileJobOf);
  return Array.from({ length: Math.ceil(files.length / filesPerJob) }, (_, n) => {
    const listed = files.slice(n * filesPerJob, (n + 1) * filesPerJob);
    return { jobId: newListJobId(), payload: { files: listed.map((file) => fileJobOf(file).payload) } };
  });
}

async function nameJobs(
  database: Database,
  jobs: readonly { jobId: string; payload: FileJob }[],
): Promise<void> {
  const rows = jobs.flatMap(({ jobId, payload }) =>
    isList(payload) ? payload.files.map(({ fileId }) => [fileId, jobId]) : [],
  );
  await database.inTransaction((tx) =>
    bulkExecute(
      tx,
      { columns: { id: 'int', job: 'text' }, rows, alias: 'v' },
      (source) => `UPDATE files SET job_id = v.job FROM ${source} WHERE files.id = v.id`,
    ),
  );
}

/** A queue manager of a test, on its own prefix. */
export async function openQueues(redis: { url: string; prefix: string }): Promise<QueueManager> {
  const queues = new QueueManager({
    ...redis,
    workerId: 'test',
    logger: silentLogger,
    metrics: new Metrics(),
  });
  await queues.start();
  return queues;
}

/** Files by status, as the batcher left them. */
export async function statusCounts(database: Database): Promise<Record<string, number>> {
  const rows = await database.read((manager) =>
    queryRows<{ status: string; n: number }>(
      manager,
      'SELECT status, count(*) AS n FROM files GROUP BY status',
    ),
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, Number(n)]));
}
