import type { Database } from '#database';
import { FILE_STATES, type FileState } from '#dlq-client';
import { bucketOf, type Window } from './window.js';

/** Where the files stand. */
export interface FileTally {
  files: Record<FileState, number>;
  bytes: Record<FileState, number>;
  /** Skipped files by the minute in which they were first seen, which for nearly all is that of the skip. */
  skipped: Map<number, number>;
}

interface Row {
  status: FileState;
  bucket: number;
  n: number;
  bytes: number;
}

/** Some tens of milliseconds of reading: SQLite has one reader, which others wait for. */
const ROWS_PER_READ = 50_000;
const MAY_LAG = { mayLag: true };

/** Counts all files, a range of ids after the other, so that nobody waits for the whole of it. */
export async function tallyFiles(database: Database, window: Window): Promise<FileTally> {
  const tally: FileTally = { files: zeros(), bytes: zeros(), skipped: new Map() };
  const sql = 'SELECT max(id) AS last FROM files';
  const [newest] = await database.rows<{ last: number | null }>(sql, [], MAY_LAG);
  for (let from = 0; from < (newest?.last ?? 0); from += ROWS_PER_READ)
    for (const row of await readRange(database, from, window)) add(tally, row);
  return tally;
}

function readRange(database: Database, from: number, window: Window): Promise<Row[]> {
  const bucket = bucketOf('first_scanned_at', window);
  return database.rows<Row>(
    `SELECT status, CASE WHEN status = 'skipped' AND first_scanned_at >= ${window.since} THEN ${bucket} ELSE -1 END AS bucket,
       count(*) AS n, CAST(sum(size) AS bigint) AS bytes
     FROM files WHERE id > $1 AND id <= $2 AND removed = 0 GROUP BY 1, 2`,
    [from, from + ROWS_PER_READ],
    MAY_LAG,
  );
}

function add(tally: FileTally, { status, bucket, n, bytes }: Row): void {
  tally.files[status] += n;
  tally.bytes[status] += bytes;
  if (bucket >= 0) tally.skipped.set(bucket, (tally.skipped.get(bucket) ?? 0) + n);
}

const zeros = (): Record<FileState, number> =>
  Object.fromEntries(FILE_STATES.map((state) => [state, 0])) as Record<FileState, number>;
