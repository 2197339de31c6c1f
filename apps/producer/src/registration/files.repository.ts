import {
  bulkExecute,
  bulkQuery,
  bulkSelect,
  columnsOf,
  databaseNow,
  dialectOf,
  execute,
  FileEntity,
  FOLDER_AWAY,
  placeholders,
  queryOne,
  queryRows,
  type Database,
  type EntityManager,
  type FileStatus,
  type RowSet,
  typesOf,
} from '#database';
import type { FileStat } from '#files';
import type { FileEntry } from '#tree';
import { shareJobs } from '../file-jobs.js';
import type { HashAlgorithm } from '../hashing/hash-file.js';
import type { KnownFile } from './change.js';
import { GONE_FOLDERS, MISSING_SOMETHING, type RemovalScope } from './folders.repository.js';
import { OPEN_SKIPS, type QueueableFile, type ScanMark } from './registration.js';

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

/** A revision of a file, to be written only while it is the file's last. */
interface Revision {
  id: number;
  revision: number;
}

export interface HashableFile extends Revision, FileStat {
  path: string;
  pathBytes: string | null;
}

interface HashableRow extends Revision {
  path: string;
  path_bytes: string | null;
  size: number;
  mtime_ns: string;
  ctime_ns: string;
  inode: string;
}

const STAT = ['size', 'mtimeNs', 'ctimeNs', 'inode'] as const;
const KNOWN = [
  ...(['id', 'folderId', 'name', ...STAT] as const),
  ...(['revision', 'status', 'skipReason', 'errorStatus', 'removed'] as const),
] as const;
const NEW = typesOf(FileEntity, [
  ...(['folderId', 'name', 'path', 'pathBytes', ...STAT] as const),
  ...(['status', 'skipReason', 'errorStatus', 'jobId'] as const),
]);
const CHANGED = typesOf(FileEntity, ['id', ...STAT, 'status', 'skipReason', 'jobId']);

/** Never opened: what is no regular file. A large file may be a duplicate all the same. */
const REGULAR = `removed = 0 AND (skip_reason IS NULL OR skip_reason NOT IN
  ('fifo', 'socket', 'device', 'symlink', 'symlink-broken', 'symlink-outside-root', 'symlink-loop', 'symlink-alias',
   'unreadable'))`;

/** Rows of `files` as a scan reads and writes them: many a statement, writes in the caller's transaction. */
export class FileRows {
  constructor(
    private readonly database: Database,
    private readonly filesPerJob: number,
  ) {}

  /** The rows of these files, by `fileKey`. */
  async find(
    tx: EntityManager,
    rows: readonly [folderId: number, name: string][],
  ): Promise<Map<string, KnownFile>> {
    const columns = { folder_id: 'int', name: 'text' } as const;
    const found = await this.select(tx, { columns, rows }, 'f.folder_id = v.folder_id AND f.name = v.name');
    return new Map(found.map((file) => [fileKey(file.folderId, file.name), file]));
  }

  async findByIds(tx: EntityManager, ids: readonly number[]): Promise<Map<number, KnownFile>> {
    return this.byId(tx, ids, 'f.id = v.id');
  }

  /**
   * The rows as they are now, and as they stay until the end of the transaction. SQLite has one writer at a time, so what
   * was found is still so: it returns none.
   */
  async hold(tx: EntityManager, ids: readonly number[]): Promise<Map<number, KnownFile>> {
    if (dialectOf(tx) === 'sqlite') return new Map();
    return this.byId(tx, ids, 'f.id = v.id ORDER BY f.id FOR UPDATE OF f');
  }

  /** A name that a folder, changed while it was read, gave twice is inserted once. */
  async insert(tx: EntityManager, mark: ScanMark, files: readonly NewFile[]): Promise<QueueableFile[]> {
    if (files.length === 0) return [];
    const byKey = new Map(files.map((file) => [fileKey(file.folderId, file.entry.name), file]));
    const jobs = this.jobsOf(files);
    const names = Object.keys(NEW).join(', ');
    const inserted = await bulkQuery<{ id: number; folder_id: number; name: string }>(
      tx,
      {
        columns: NEW,
        // Field by field: copying an entry takes ten times as long.
        rows: files.map(({ folderId, entry, status }) => {
          const { name, path, pathBytes, size, mtimeNs, ctimeNs, inode, skip, error } = entry;
          const job = jobs.get(entry) ?? null;
          return [folderId, name, path, pathBytes, size, mtimeNs, ctimeNs, inode, status, skip, error, job];
        }),
        alias: 'v',
        extra: [mark.rootId, mark.scanId, mark.now],
      },
      (source, [root, scan, now]) =>
        `INSERT INTO files (${names}, root_id, last_scan_id, first_scanned_at, last_scanned_at)
         SELECT ${names}, ${root}, ${scan}, ${now}, ${now} FROM ${source} WHERE true
         ON CONFLICT (folder_id, name) DO NOTHING RETURNING id, folder_id, name`,
    );
    return inserted.flatMap(({ id, folder_id: folderId, name }) => {
      const { status, entry } = byKey.get(fileKey(folderId, name)) ?? {};
      if (status !== 'pending' || !entry) return [];
      return [queueable(entry, { id, revision: 1 }, jobs.get(entry))];
    });
  }

  /** Begins a new revision: whatever was known of the content is forgotten. */
  async update(tx: EntityManager, mark: ScanMark, files: readonly ChangedFile[]): Promise<QueueableFile[]> {
    const byId = new Map(files.map((file) => [file.known.id, file]));
    const jobs = this.jobsOf(files);
    const rows = files.map(({ known: { id }, entry, status }) => {
      const { size, mtimeNs, ctimeNs, inode, skip } = entry;
      return [id, size, mtimeNs, ctimeNs, inode, status, skip, jobs.get(entry) ?? null];
    });
    const updated = await bulkQuery<Revision>(
      tx,
      { alias: 'v', columns: CHANGED, rows },
      (source) =>
        `UPDATE files SET size = v.size, mtime_ns = v.mtime_ns, ctime_ns = v.ctime_ns, inode = v.inode,
           status = v.status, skip_reason = v.skip_reason, revision = files.revision + 1, error_status = NULL,
           hash_value = NULL, hash_algorithm = NULL, token_count = NULL, tokenizer = NULL, duplicate_of = NULL,
           worker_id = NULL, claimed_until = NULL, claims = 0, enqueued_at = 0, job_id = v.job_id, removed = 0,
           ${seenNow(mark)}
         FROM ${source} WHERE files.id = v.id RETURNING files.id, files.revision`,
    );
    return updated.flatMap(({ id, revision }) => {
      const { status, entry } = byId.get(id) ?? {};
      if (status !== 'pending' || !entry) return [];
      return [queueable(entry, { id, revision }, jobs.get(entry))];
    });
  }

  /** Same content, other circumstances. A status that others moved meanwhile is theirs. What waits gets its job again. */
  async correct(tx: EntityManager, mark: ScanMark, files: readonly CorrectedFile[]): Promise<void> {
    const columns = {
      id: 'int',
      was: 'text',
      status: 'text',
      skip_reason: 'text',
      error_status: 'text',
    } as const;
    const rows = files.map(({ known: { id, status: was }, status = was, skip, error }) => [
      ...[id, was, status, skip, error],
    ]);
    await bulkExecute(
      tx,
      { alias: 'v', columns, rows },
      (source) =>
        `UPDATE files SET removed = 0, error_status = v.error_status, ${seenNow(mark)},
           status = CASE WHEN files.status = v.was THEN v.status ELSE files.status END,
           skip_reason = CASE WHEN files.status = v.was THEN v.skip_reason ELSE files.skip_reason END,
           enqueued_at = CASE WHEN files.status = v.was AND v.status = 'pending' THEN 0 ELSE files.enqueued_at END
         FROM ${source} WHERE files.id = v.id`,
    );
  }

  async touch(tx: EntityManager, mark: ScanMark, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await execute(tx, `UPDATE files SET ${seenNow(mark)} WHERE id IN (${placeholders(ids.length)})`, ids);
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
    return count(tx, `SELECT count(*) AS n FROM files WHERE root_id = $1 AND ${OPEN_SKIPS}`, [rootId]);
  }

  /** Files of the root that wait and never had a job, in order of id: what a crash left between commit and queue. */
  async withoutJob(rootId: number, afterId: number, limit: number): Promise<QueueableFile[]> {
    const columns = columnsOf<FileEntity>(['id', 'revision', 'path', 'pathBytes', 'size', 'ctimeNs']);
    const rows = await this.database.read((manager) =>
      queryRows<Omit<QueueableFile, 'jobId'>>(
        manager,
        `SELECT ${columns} FROM files
         WHERE status = 'pending' AND removed = 0 AND enqueued_at = 0 AND id > $2 AND root_id = $1
         ORDER BY id LIMIT $3`,
        [rootId, afterId, limit],
      ),
    );
    const jobs = shareJobs(rows, this.filesPerJob);
    return rows.map((row) => ({ ...row, jobId: jobs.get(row) ?? null }));
  }

  /** Whatever job these files were of: it was lost, or others of it are elsewhere by now. */
  async nameJobs(tx: EntityManager, files: readonly QueueableFile[]): Promise<void> {
    const rows = files.map(({ id, revision, jobId }) => ({ id, revision, value: jobId }));
    await setRevisions(tx, rows, 'job_id = v.value', `files.status = 'pending' AND files.enqueued_at = 0`);
  }

  /**
   * By the database's clock, as recovery judges it: a producer's that is ahead would keep lost jobs lost. Whoever settled a file
   * meanwhile has marked it. In the order in which batchers write them, too, so that neither waits for the other in a circle.
   */
  async markEnqueued(tx: EntityManager, files: readonly Revision[]): Promise<void> {
    const inOrder = [...files].sort((one, other) => one.id - other.id);
    await setRevisions(tx, inOrder, `enqueued_at = ${databaseNow(dialectOf(tx))}`, 'files.enqueued_at = 0');
  }

  /** Sizes that more than one file has: only those can have the same content. */
  async sharedSizes(rootId: number): Promise<Set<number>> {
    const rows = await this.database.read((manager) =>
      queryRows<{ size: number }>(
        manager,
        `SELECT size FROM files WHERE root_id = $1 AND size > 0 AND ${REGULAR} GROUP BY size HAVING count(*) > 1`,
        [rootId],
      ),
    );
    return new Set(rows.map(({ size }) => size));
  }

  /** The next files in order of id, themselves in no particular order. */
  async unhashed(rootId: number, algorithm: string, afterId: number, limit: number): Promise<HashableFile[]> {
    const rows = await this.database.read((manager) =>
      bulkSelect<HashableRow>(
        manager,
        ['id', 'revision', 'path', 'path_bytes', 'size', 'mtime_ns', 'ctime_ns', 'inode'],
        `FROM files
         WHERE root_id = $1 AND id > $2 AND (hash_value IS NULL OR hash_algorithm <> $3) AND ${REGULAR}
         ORDER BY id LIMIT $4`,
        [rootId, afterId, algorithm, limit],
      ),
    );
    return rows.map(({ path_bytes: pathBytes, mtime_ns: mtimeNs, ctime_ns: ctimeNs, ...row }) => ({
      ...{ ...row, pathBytes, mtimeNs, ctimeNs },
    }));
  }

  async storeHashes(
    tx: EntityManager,
    hashes: readonly (Revision & { value: string })[],
    algorithm: HashAlgorithm,
    now: number,
  ): Promise<void> {
    const set = `hash_value = v.value, hash_algorithm = '${algorithm}', last_scanned_at = ${Number(now)}`;
    await setRevisions(tx, hashes, set);
  }

  async storeErrors(
    tx: EntityManager,
    errors: readonly (Revision & { value: string })[],
    now: number,
  ): Promise<void> {
    await setRevisions(tx, errors, `error_status = v.value, last_scanned_at = ${Number(now)}`);
  }

  /** As if the scan had not seen them: whether they are removed is decided at its end, with all that is missing. */
  async markUnseen(tx: EntityManager, files: readonly Revision[]): Promise<void> {
    await setRevisions(tx, files, 'last_scan_id = 0');
    await bulkExecute(
      tx,
      { alias: 'v', columns: { id: 'int' }, rows: files.map(({ id }) => [id]) },
      (source) => `UPDATE folders SET listing_digest = NULL
        WHERE id IN (SELECT f.folder_id FROM ${source} JOIN files f ON f.id = v.id)`,
    );
  }

  /** How many files of the root are known, and how many of them a complete scan did not see any more. */
  async countMissing(
    tx: EntityManager,
    { rootId, scanId, files, folders }: RemovalScope,
  ): Promise<{ missing: number; known: number }> {
    const known = await count(tx, 'SELECT count(*) AS n FROM files WHERE root_id = $1 AND removed = 0', [
      rootId,
    ]);
    const scope = [rootId, scanId];
    const missing = 'SELECT count(*) AS n FROM files WHERE removed = 0 AND';
    const inListed = `${missing} last_scan_id <> $2 AND folder_id IN (${MISSING_SOMETHING})`;
    const inGone = `${GONE_FOLDERS} ${missing} folder_id IN (SELECT id FROM gone)`;
    return {
      known,
      missing:
        (files ? await count(tx, inListed, scope) : 0) + (folders ? await count(tx, inGone, scope) : 0),
    };
  }

  /** At most `limit` files; returns how many, 0 when all are marked. What somebody has claimed is taken from them. */
  async removeMissing(tx: EntityManager, scope: RemovalScope, limit: number): Promise<number> {
    const gone = 'SELECT id FROM folders WHERE root_id = $1 AND removed = 1';
    const listed = scope.files ? `OR (last_scan_id <> $2 AND folder_id IN (${MISSING_SOMETHING}))` : '';
    return execute(
      tx,
      `UPDATE files SET removed = 1, worker_id = NULL, claimed_until = NULL,
         status = CASE WHEN status = 'processing' THEN 'pending' ELSE status END WHERE id IN (
         SELECT id FROM files WHERE root_id = $1 AND removed = 0 AND CAST($2 AS BIGINT) IS NOT NULL AND (folder_id IN (${gone}) ${listed})
         LIMIT $3)`,
      [scope.rootId, scope.scanId, limit],
    );
  }

  /** Of what waits to be read. */
  private jobsOf(files: readonly { entry: FileEntry; status: FileStatus }[]): Map<FileEntry, string> {
    const pending = files.filter(({ status }) => status === 'pending');
    return shareJobs(
      pending.map(({ entry }) => entry),
      this.filesPerJob,
    );
  }

  private async byId(
    tx: EntityManager,
    ids: readonly number[],
    match: string,
  ): Promise<Map<number, KnownFile>> {
    const set = { columns: { id: 'int' }, rows: ids.map((id) => [id]) } as const;
    return new Map((await this.select(tx, set, match)).map((file) => [file.id, file]));
  }

  /** CROSS JOIN keeps SQLite from walking the whole table for a handful of keys. */
  private select(tx: EntityManager, set: RowSet, match: string): Promise<KnownFile[]> {
    return bulkQuery<KnownFile>(
      tx,
      { alias: 'v', ...set },
      (source) =>
        `SELECT ${columnsOf<FileEntity>(KNOWN, 'f')} FROM ${source} CROSS JOIN files f WHERE ${match}`,
    );
  }
}

function queueable(
  { path, pathBytes, size, ctimeNs }: FileEntry,
  { id, revision }: Revision,
  jobId: string | undefined,
): QueueableFile {
  return { id, revision, path, pathBytes, size, ctimeNs, jobId: jobId ?? null };
}

/** No name contains a slash but at its front, so folder and name cannot be mistaken. */
export function fileKey(folderId: number, name: string): string {
  return `${folderId}/${name}`;
}

/** Updates files by their ids, each only while its last revision is the one given; `value` is read as `v.value`. */
async function setRevisions(
  tx: EntityManager,
  files: readonly (Revision & { value?: string | null })[],
  set: string,
  guard = 'true',
): Promise<void> {
  const columns = { id: 'int', revision: 'int', value: 'text' } as const;
  const rows = files.map(({ id, revision, value = null }) => [id, revision, value]);
  await bulkExecute(
    tx,
    { alias: 'v', columns, rows },
    (source) =>
      `UPDATE files SET ${set} FROM ${source} WHERE files.id = v.id AND files.revision = v.revision AND ${guard}`,
  );
}

async function count(tx: EntityManager, sql: string, params: readonly number[]): Promise<number> {
  return Number((await queryOne<{ n: number }>(tx, sql, params)).n);
}

// Numbers of our own making, so they may stand in the text.
function seenNow({ scanId, now }: ScanMark): string {
  return `last_scan_id = ${Number(scanId)}, last_scanned_at = ${Number(now)}`;
}
