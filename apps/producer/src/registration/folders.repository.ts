import {
  bulkExecute,
  bulkInsert,
  bulkSelect,
  execute,
  FolderEntity,
  placeholders,
  typesOf,
  type Database,
  type EntityManager,
  type SqlValue,
} from '#database';
import type { FolderRef, SubfolderEntry } from '#tree';
import { OPEN_SKIPS, type ScanMark } from './registration.js';

export interface SeenFolder {
  parentId: number | null;
  depth: number;
  entry: SubfolderEntry;
}

export interface EndedFolder {
  id: number;
  identity: string | null;
  digest: string | null;
  error: string | null;
}

interface FolderRow extends Pick<FolderRef, 'id' | 'path' | 'depth'> {
  path_bytes: string | null;
  inode: string | null;
  listed_scan_id: number;
  listing_digest: string | null;
}

/** In `listed_scan_id`: some of the folder's files are registered, the rest is not. Never the id of a scan. */
const PARTLY_LISTED = -1;

const COLUMNS = typesOf(FolderEntity, [
  ...(['rootId', 'parentId', 'path', 'pathBytes', 'pathKey', 'depth'] as const),
  ...(['firstScannedAt', 'lastScannedAt', 'lastScanId'] as const),
]);

export interface RemovalScope {
  rootId: number;
  scanId: number;
  /** Whether the scan discovered folders, so that one it did not see is gone. */
  folders: boolean;
  /** Whether the scan looked at files. */
  files: boolean;
}

/**
 * $1 root, $2 scan → ids of folders that are gone: not seen although the folder above was listed without an error, and
 * all below them. What is under a folder with an error is neither here nor gone.
 */
export const GONE_FOLDERS = `
  WITH RECURSIVE gone (id) AS (
    SELECT f.id FROM folders f JOIN folders p ON p.id = f.parent_id
    WHERE f.root_id = $1 AND f.removed = 0 AND f.last_scan_id <> $2
      AND p.last_scan_id = $2 AND p.listed_scan_id = $2 AND p.error_status IS NULL
    UNION
    SELECT c.id FROM folders c JOIN gone g ON c.parent_id = g.id WHERE c.removed = 0 AND c.last_scan_id <> $2
  )`;

/**
 * $1 root, $2 scan: folders that the scan listed to the end and that miss something (their digest was withheld).
 * In them, and only in them, a file whose row the scan did not touch is gone.
 */
export const MISSING_SOMETHING = `
  SELECT id FROM folders WHERE root_id = $1 AND last_scan_id = $2 AND listed_scan_id = $2
    AND error_status IS NULL AND listing_digest IS NULL`;

/** Rows of `folders`: the record of the tree and, where a folder was seen but not yet listed, the frontier of the scan. */
export class FolderRows {
  constructor(private readonly database: Database) {}

  /** Folders still to be listed, nearest to the root first. */
  async frontier(scanId: number, count: number): Promise<FolderRef[]> {
    const rows = await this.database.read((manager) =>
      bulkSelect<FolderRow>(
        manager,
        ['id', 'path', 'path_bytes', 'depth', 'inode', 'listed_scan_id', 'listing_digest'],
        'FROM folders WHERE last_scan_id = $1 AND listed_scan_id <> last_scan_id ORDER BY depth, id LIMIT $2',
        [scanId, count],
      ),
    );
    return rows.map(folderRef).sort((one, other) => one.depth - other.depth || one.id - other.id);
  }

  async see(tx: EntityManager, mark: ScanMark, folders: readonly SeenFolder[]): Promise<void> {
    await bulkInsert(tx, {
      table: 'folders',
      columns: COLUMNS,
      rows: folders.map((folder) => seenRow(mark, folder)),
      onConflict: `(path_key) DO UPDATE SET parent_id = excluded.parent_id, depth = excluded.depth, removed = 0,
        last_scanned_at = excluded.last_scanned_at, last_scan_id = excluded.last_scan_id`,
    });
  }

  /** A folder whose listing is what it was has the subfolders that it had. */
  async seeChildrenOf(tx: EntityManager, mark: ScanMark, parents: readonly number[]): Promise<void> {
    if (parents.length === 0) return;
    await execute(
      tx,
      `UPDATE folders SET last_scan_id = $1, last_scanned_at = $2
       WHERE parent_id IN (${placeholders(parents.length, 3)}) AND removed = 0`,
      [mark.scanId, mark.now, ...parents],
    );
  }

  /** Files that want another look are found only in a folder that is listed anew, whatever its digest says. */
  async forgetDigestOfOpenSkips(tx: EntityManager, { rootId }: ScanMark): Promise<void> {
    await execute(
      tx,
      `UPDATE folders SET listing_digest = NULL WHERE id IN (
         SELECT folder_id FROM files WHERE root_id = $1 AND ${OPEN_SKIPS})`,
      [rootId],
    );
  }

  /** For scans that look only into folders known before. */
  async seeAllKnown(tx: EntityManager, mark: ScanMark): Promise<number> {
    return execute(
      tx,
      'UPDATE folders SET last_scan_id = $1, last_scanned_at = $2 WHERE root_id = $3 AND removed = 0',
      [mark.scanId, mark.now, mark.rootId],
    );
  }

  async markPartlyListed(tx: EntityManager, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await execute(
      tx,
      `UPDATE folders SET listed_scan_id = ${PARTLY_LISTED}, listing_digest = NULL
       WHERE id IN (${placeholders(ids.length)})`,
      ids,
    );
  }

  /** `keepDigest`: this scan did not look at files, so what is known of them stays as it is. */
  async end(
    tx: EntityManager,
    mark: ScanMark,
    folders: readonly EndedFolder[],
    keepDigest = false,
  ): Promise<void> {
    await bulkExecute(
      tx,
      {
        alias: 'v',
        columns: { id: 'int', inode: 'text', digest: 'text', error: 'text' },
        rows: folders.map(({ id, identity, digest, error }) => [id, identity, digest, error]),
        extra: [mark.scanId, mark.now],
      },
      (source, [scanId, now]) =>
        `UPDATE folders SET listed_scan_id = ${scanId}, last_scanned_at = ${now},
           inode = COALESCE(v.inode, folders.inode), error_status = v.error
           ${keepDigest ? '' : ', listing_digest = v.digest'}
         FROM ${source} WHERE folders.id = v.id`,
    );
  }

  /** Marks removed what a complete scan did not see any more. By scan id, never by a clock. */
  async removeGone(tx: EntityManager, { rootId, scanId }: RemovalScope): Promise<number> {
    return execute(
      tx,
      `${GONE_FOLDERS} UPDATE folders SET removed = 1, listing_digest = NULL WHERE id IN (SELECT id FROM gone)`,
      [rootId, scanId],
    );
  }

  /** Takes the digest from folders that miss something: the next scan must look at them again, entry by entry. */
  async forgetDigestWhereMissing(
    tx: EntityManager,
    { scanId }: ScanMark,
    ids: readonly number[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await execute(
      tx,
      `UPDATE folders SET listing_digest = NULL WHERE id IN (${placeholders(ids.length, 2)}) AND (
         EXISTS (SELECT 1 FROM files f WHERE f.folder_id = folders.id AND f.removed = 0 AND f.last_scan_id <> $1)
         OR EXISTS (SELECT 1 FROM folders c WHERE c.parent_id = folders.id AND c.removed = 0 AND c.last_scan_id <> $1))`,
      [scanId, ...ids],
    );
  }
}

function seenRow({ rootId, scanId, now }: ScanMark, { parentId, depth, entry }: SeenFolder): SqlValue[] {
  return [rootId, parentId, entry.path, entry.pathBytes, entry.key, depth, now, now, scanId];
}

function folderRef({ id, path, depth, ...row }: FolderRow): FolderRef {
  const {
    path_bytes: pathBytes,
    inode: identity,
    listed_scan_id: listedScanId,
    listing_digest: digest,
  } = row;
  return { id, path, pathBytes, depth, identity, listedScanId, digest };
}
