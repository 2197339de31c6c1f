import {
  bulkExecute,
  bulkInsertReturning,
  bulkQuery,
  dialectOf,
  execute,
  FileEntity,
  FOLDER_AWAY,
  placeholders,
  queryOne,
  typesOf,
  type EntityManager,
  type FileStatus,
  type RowSet,
  type SqlValue,
} from '#database';
import { OPEN_SKIP_REASONS } from '#files';
import type { FileEntry } from '#tree';
import { shareJobs } from '../file-jobs.js';
import type { KnownFile } from './change.js';
import type { QueueableFile } from './registration.js';

/** Files that were skipped for a reason that the outside can undo. The condition of the index `files_open_skips`. */
export const OPEN_SKIPS = `status = 'skipped' AND removed = 0
  AND skip_reason IN (${OPEN_SKIP_REASONS.map((reason) => `'${reason}'`).join(', ')})`;

/** Which scan writes, for which root, and when it says it did. */
export interface ScanMark {
  scanId: number;
  rootId: number;
  now: number;
}

export interface FileName {
  folderId: number;
  name: string;
}

export interface NewFile {
  folderId: number;
  entry: FileEntry;
  status: FileStatus;
}

export interface ChangedFile {
  known: KnownFile;
  entry: FileEntry;
  status: FileStatus;
}

export interface CorrectedFile {
  known: KnownFile;
  status: FileStatus | undefined;
  skip: string | null;
  error: string | null;
}

interface KnownRow {
  id: number;
  folder_id: number;
  name: string;
  size: number;
  mtime_ns: string;
  ctime_ns: string;
  inode: string;
  revision: number;
  status: FileStatus;
  skip_reason: string | null;
  error_status: string | null;
  removed: number;
}

const NEW_COLUMNS = typesOf(FileEntity, [
  ...(['rootId', 'folderId', 'name', 'path', 'pathBytes', 'size', 'mtimeNs', 'ctimeNs', 'inode'] as const),
  ...([
    'status',
    'skipReason',
    'errorStatus',
    'firstScannedAt',
    'lastScannedAt',
    'lastScanId',
    'jobId',
  ] as const),
]);

/** Rows of `files` as a scan reads and writes them: many a statement, in the caller's transaction. */
export class FileRows {
  constructor(private readonly filesPerJob: number) {}

  /** The rows of these files, by `fileKey`. */
  async find(tx: EntityManager, files: readonly FileName[]): Promise<Map<string, KnownFile>> {
    const columns = { folder_id: 'int', name: 'text' } as const;
    const rows = files.map(({ folderId, name }) => [folderId, name]);
    const found = await this.select(tx, { columns, rows }, 'f.folder_id = v.folder_id AND f.name = v.name');
    return new Map(found.map((file) => [fileKey(file), file]));
  }

  async findByIds(tx: EntityManager, ids: readonly number[]): Promise<Map<number, KnownFile>> {
    if (ids.length === 0) return new Map();
    const columns = { id: 'int' } as const;
    const found = await this.select(tx, { columns, rows: ids.map((id) => [id]) }, 'f.id = v.id');
    return new Map(found.map((file) => [file.id, file]));
  }

  /**
   * The rows as they are now, and as they stay until the end of the transaction. SQLite has one writer at a time, so what
   * was found is still so: it returns none.
   */
  async hold(tx: EntityManager, ids: readonly number[]): Promise<Map<number, KnownFile>> {
    if (ids.length === 0 || dialectOf(tx) === 'sqlite') return new Map();
    const set = { columns: { id: 'int' }, rows: ids.map((id) => [id]) } as const;
    const found = await this.select(tx, set, 'f.id = v.id ORDER BY f.id FOR UPDATE OF f');
    return new Map(found.map((file) => [file.id, file]));
  }

  /** A name that a folder, changed while it was read, gave twice is inserted once. */
  async insert(tx: EntityManager, mark: ScanMark, files: readonly NewFile[]): Promise<QueueableFile[]> {
    if (files.length === 0) return [];
    const byKey = new Map(
      files.map((file) => [fileKey({ folderId: file.folderId, name: file.entry.name }), file]),
    );
    const jobs = this.jobsOf(files);
    const rows = files.map((file) => newRow(mark, file, jobs.get(file)));
    const inserted = await bulkInsertReturning<Pick<KnownRow, 'id' | 'folder_id' | 'name'>>(
      tx,
      { table: 'files', columns: NEW_COLUMNS, rows, onConflict: '(folder_id, name) DO NOTHING' },
      'id, folder_id, name',
    );
    return inserted.flatMap(({ id, folder_id: folderId, name }) => {
      const file = byKey.get(fileKey({ folderId, name }));
      return file?.status === 'pending' ? [queueable(id, 1, file.entry, jobs.get(file))] : [];
    });
  }

  /** Begins a new revision: whatever was known of the content is forgotten. */
  async update(tx: EntityManager, mark: ScanMark, files: readonly ChangedFile[]): Promise<QueueableFile[]> {
    if (files.length === 0) return [];
    const byId = new Map(files.map((file) => [file.known.id, file]));
    const jobs = this.jobsOf(files);
    const rows = await bulkQuery<{ id: number; revision: number }>(
      tx,
      {
        alias: 'v',
        columns: {
          id: 'int',
          size: 'int',
          mtime_ns: 'text',
          ctime_ns: 'text',
          inode: 'text',
          status: 'text',
          skip_reason: 'text',
          job: 'text',
        },
        rows: files.map((file) => rowOf(file, jobs.get(file))),
      },
      (source) =>
        `UPDATE files SET size = v.size, mtime_ns = v.mtime_ns, ctime_ns = v.ctime_ns, inode = v.inode,
           status = v.status, skip_reason = v.skip_reason, revision = files.revision + 1, error_status = NULL,
           hash_value = NULL, hash_algorithm = NULL, token_count = NULL, tokenizer = NULL, duplicate_of = NULL,
           worker_id = NULL, claimed_until = NULL, claims = 0, enqueued_at = 0, job_id = v.job, removed = 0,
           ${seenNow(mark)}
         FROM ${source} WHERE files.id = v.id RETURNING files.id, files.revision`,
    );
    return rows.flatMap(({ id, revision }) => {
      const file = byId.get(id);
      return file?.status === 'pending' ? [queueable(id, revision, file.entry, jobs.get(file))] : [];
    });
  }

  /** Same content, other circumstances. A status that others moved meanwhile is theirs. What waits gets its job again. */
  async correct(tx: EntityManager, mark: ScanMark, files: readonly CorrectedFile[]): Promise<void> {
    if (files.length === 0) return;
    await bulkExecute(
      tx,
      {
        alias: 'v',
        columns: { id: 'int', was: 'text', status: 'text', skip_reason: 'text', error_status: 'text' },
        rows: files.map(({ known, status, skip, error }) => [
          known.id,
          known.status,
          status ?? known.status,
          skip,
          error,
        ]),
      },
      (source) =>
        `UPDATE files SET removed = 0, error_status = v.error_status, ${seenNow(mark)},
           status = CASE WHEN files.status = v.was THEN v.status ELSE files.status END,
           skip_reason = CASE WHEN files.status = v.was THEN v.skip_reason ELSE files.skip_reason END,
           enqueued_at = CASE WHEN files.status = v.was AND v.status = 'pending' THEN 0 ELSE files.enqueued_at END
         FROM ${source} WHERE files.id = v.id`,
    );
  }

  /** Those that share a job, each with its id. */
  private jobsOf<File extends NewFile | ChangedFile>(files: readonly File[]): Map<File, string | null> {
    const pending = files.filter(({ status }) => status === 'pending');
    const jobs = shareJobs(
      pending.map(({ entry }) => entry),
      this.filesPerJob,
    );
    return new Map(pending.map((file, at) => [file, jobs[at] ?? null]));
  }

  /** CROSS JOIN keeps SQLite from walking the whole table for a handful of keys. */
  private async select(tx: EntityManager, set: RowSet, match: string): Promise<KnownFile[]> {
    const rows = await bulkQuery<KnownRow>(
      tx,
      { alias: 'v', ...set },
      (source) =>
        `SELECT f.id, f.folder_id, f.name, f.size, f.mtime_ns, f.ctime_ns, f.inode, f.revision, f.status, f.skip_reason,
           f.error_status, f.removed
         FROM ${source} CROSS JOIN files f WHERE ${match}`,
    );
    return rows.map(knownFile);
  }

  /** Whoever waits for them to be settled waits again: their folders may be back. */
  async forgetAway(tx: EntityManager, rootId: number): Promise<void> {
    await execute(
      tx,
      `UPDATE files SET error_status = NULL
       WHERE status = 'pending' AND removed = 0 AND root_id = $1 AND error_status = '${FOLDER_AWAY}'`,
      [rootId],
    );
  }

  async countOpenSkips(tx: EntityManager, rootId: number): Promise<number> {
    const { n } = await queryOne<{ n: number }>(
      tx,
      `SELECT count(*) AS n FROM files WHERE root_id = $1 AND ${OPEN_SKIPS}`,
      [rootId],
    );
    return Number(n);
  }

  async touch(tx: EntityManager, mark: ScanMark, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await execute(tx, `UPDATE files SET ${seenNow(mark)} WHERE id IN (${placeholders(ids.length)})`, ids);
  }
}

/** No name contains a slash but at its front, so folder and name cannot be mistaken. */
export function fileKey({ folderId, name }: FileName): string {
  return `${folderId}/${name}`;
}

// Numbers of our own making, so they may stand in the text.
function seenNow({ scanId, now }: ScanMark): string {
  return `last_scan_id = ${Number(scanId)}, last_scanned_at = ${Number(now)}`;
}

function newRow(
  { rootId, scanId, now }: ScanMark,
  { folderId, entry, status }: NewFile,
  jobId: string | null = null,
): SqlValue[] {
  const { name, path, pathBytes, size, mtimeNs, ctimeNs, inode, skip, error } = entry;
  const stat = [size, mtimeNs, ctimeNs, inode];
  return [rootId, folderId, name, path, pathBytes, ...stat, status, skip, error, now, now, scanId, jobId];
}

function rowOf({ known, entry, status }: ChangedFile, jobId: string | null = null): SqlValue[] {
  const { size, mtimeNs, ctimeNs, inode, skip } = entry;
  return [known.id, size, mtimeNs, ctimeNs, inode, status, skip, jobId];
}

function queueable(
  id: number,
  revision: number,
  entry: FileEntry,
  jobId: string | null = null,
): QueueableFile {
  const { path, pathBytes, size, ctimeNs } = entry;
  return { id, revision, path, pathBytes, size, ctimeNs, jobId };
}

function knownFile(row: KnownRow): KnownFile {
  return {
    id: row.id,
    folderId: row.folder_id,
    name: row.name,
    size: row.size,
    mtimeNs: row.mtime_ns,
    ctimeNs: row.ctime_ns,
    inode: row.inode,
    revision: row.revision,
    status: row.status,
    skipReason: row.skip_reason,
    errorStatus: row.error_status,
    removed: row.removed === 1,
  };
}
