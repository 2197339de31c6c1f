import { execute, queryOne, type EntityManager } from '#database';

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
const GONE_FOLDERS = `
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
const MISSING_SOMETHING = `
  SELECT id FROM folders WHERE root_id = $1 AND last_scan_id = $2 AND listed_scan_id = $2
    AND error_status IS NULL AND listing_digest IS NULL`;

/** What a complete scan did not see any more. By scan id, never by a clock. */
export class RemovalRows {
  async counts(tx: EntityManager, scope: RemovalScope): Promise<{ missing: number; known: number }> {
    const { rootId, scanId } = scope;
    const { known } = await queryOne<{ known: number }>(
      tx,
      'SELECT count(*) AS known FROM files WHERE root_id = $1 AND removed = 0',
      [rootId],
    );
    const inListed = scope.files
      ? await this.count(
          tx,
          `SELECT count(*) AS missing FROM files WHERE removed = 0 AND last_scan_id <> $2
          AND folder_id IN (${MISSING_SOMETHING})`,
          [rootId, scanId],
        )
      : 0;
    const inGone = scope.folders
      ? await this.count(
          tx,
          `${GONE_FOLDERS} SELECT count(*) AS missing FROM files
          WHERE removed = 0 AND folder_id IN (SELECT id FROM gone)`,
          [rootId, scanId],
        )
      : 0;
    return { known, missing: inListed + inGone };
  }

  async removeFolders(tx: EntityManager, { rootId, scanId }: RemovalScope): Promise<number> {
    return execute(
      tx,
      `${GONE_FOLDERS} UPDATE folders SET removed = 1, listing_digest = NULL WHERE id IN (SELECT id FROM gone)`,
      [rootId, scanId],
    );
  }

  /** At most `limit` files; returns how many, 0 when all are marked. What somebody has claimed is taken from them. */
  async removeFiles(tx: EntityManager, scope: RemovalScope, limit: number): Promise<number> {
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

  private async count(tx: EntityManager, sql: string, params: readonly number[]): Promise<number> {
    return (await queryOne<{ missing: number }>(tx, sql, params)).missing;
  }
}
