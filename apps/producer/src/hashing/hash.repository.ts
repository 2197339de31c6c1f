import {
  bulkExecute,
  bulkSelect,
  queryRows,
  type Database,
  type EntityManager,
  type SqlValue,
} from '#database';
import type { FileStat } from '#files';
import type { HashAlgorithm } from './hash-file.js';

export interface HashableFile {
  id: number;
  revision: number;
  path: string;
  pathBytes: string | null;
  stat: FileStat;
}

interface Row {
  id: number;
  revision: number;
  path: string;
  path_bytes: string | null;
  size: number;
  mtime_ns: string;
  ctime_ns: string;
  inode: string;
}

/** Never opened: what is no regular file. A large file may be a duplicate all the same. */
const REGULAR = `removed = 0 AND (skip_reason IS NULL OR skip_reason NOT IN
  ('fifo', 'socket', 'device', 'symlink', 'symlink-broken', 'symlink-outside-root', 'symlink-loop', 'symlink-alias',
   'unreadable'))`;

/** Which files want a hash, and the hashes they get. */
export class HashRows {
  constructor(private readonly database: Database) {}

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
  async unhashed(
    rootId: number,
    algorithm: HashAlgorithm,
    afterId: number,
    limit: number,
  ): Promise<HashableFile[]> {
    const rows = await this.database.read((manager) =>
      bulkSelect<Row>(
        manager,
        ['id', 'revision', 'path', 'path_bytes', 'size', 'mtime_ns', 'ctime_ns', 'inode'],
        `FROM files
         WHERE root_id = $1 AND id > $2 AND (hash_value IS NULL OR hash_algorithm <> $3) AND ${REGULAR}
         ORDER BY id LIMIT $4`,
        [rootId, afterId, algorithm, limit],
      ),
    );
    return rows.map(hashable);
  }

  /** Only where the revision is still the one that was read. */
  async store(
    tx: EntityManager,
    hashes: readonly { id: number; revision: number; hash: string }[],
    algorithm: HashAlgorithm,
    now: number,
  ): Promise<void> {
    await this.update(
      tx,
      { id: 'int', revision: 'int', hash: 'text' },
      hashes.map(({ id, revision, hash }) => [id, revision, hash]),
      [algorithm, now],
      ([name, at]) => `hash_value = v.hash, hash_algorithm = ${name}, last_scanned_at = ${at}`,
    );
  }

  async storeErrors(
    tx: EntityManager,
    errors: readonly { id: number; revision: number; error: string }[],
    now: number,
  ): Promise<void> {
    await this.update(
      tx,
      { id: 'int', revision: 'int', error: 'text' },
      errors.map(({ id, revision, error }) => [id, revision, error]),
      [now],
      ([at]) => `error_status = v.error, last_scanned_at = ${at}`,
    );
  }

  /** As if the scan had not seen them: whether they are removed is decided at its end, with all that is missing. */
  async markUnseen(tx: EntityManager, files: readonly { id: number; revision: number }[]): Promise<void> {
    const rows = files.map(({ id, revision }) => [id, revision]);
    await this.update(tx, { id: 'int', revision: 'int' }, rows, [], () => 'last_scan_id = 0');
    await bulkExecute(
      tx,
      { alias: 'v', columns: { id: 'int', revision: 'int' }, rows },
      (source) => `UPDATE folders SET listing_digest = NULL
        WHERE id IN (SELECT f.folder_id FROM ${source} JOIN files f ON f.id = v.id)`,
    );
  }

  private async update(
    tx: EntityManager,
    columns: Record<string, 'int' | 'text'>,
    rows: SqlValue[][],
    extra: SqlValue[],
    set: (extra: string[]) => string,
  ): Promise<void> {
    if (rows.length === 0) return;
    await bulkExecute(
      tx,
      { alias: 'v', columns, rows, extra },
      (source, names) =>
        `UPDATE files SET ${set(names)} FROM ${source}
         WHERE files.id = v.id AND files.revision = v.revision`,
    );
  }
}

function hashable(row: Row): HashableFile {
  const { id, revision, path, path_bytes, size, mtime_ns, ctime_ns, inode } = row;
  return {
    id,
    revision,
    path,
    pathBytes: path_bytes,
    stat: { size, mtimeNs: mtime_ns, ctimeNs: ctime_ns, inode },
  };
}
