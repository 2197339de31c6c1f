import { dirname } from 'node:path';
import type { Database } from '#database';
import { shownPath } from '#envelope';
import { count, json, tableOf, type OutputFormat } from '../output/table.js';
import { skipReasons } from '#proof';

interface Total {
  folder: string;
  files: number;
  bytes: number;
  tokens: number;
}

/** What would be batched: token totals by folder, largest first. */
export async function folderTotals(database: Database, root: string, output: OutputFormat): Promise<string> {
  const folders = await totalsByFolder(database, root);
  const skipped = await skipReasons(database);
  const [{ batches } = { batches: 0 }] = await database.rows<{ batches: number }>(
    'SELECT count(*) AS batches FROM batches',
  );
  if (output === 'json') return json({ batches, folders, skipped });
  const skippedLine = skipped.map(({ reason, files }) => `${reason} ${count(files)}`).join(', ');
  const tokens = folders.reduce((sum, folder) => sum + folder.tokens, 0);
  return `${tableOf(folders, { FOLDER: 'folder', FILES: 'files', BYTES: 'bytes', TOKENS: 'tokens' })}
Would deliver ${count(batches)} batches, ${count(tokens)} tokens. Skipped: ${skippedLine || 'none'}.
`;
}

async function totalsByFolder(database: Database, root: string): Promise<Total[]> {
  const rows = await database.rows<{ path: string; files: number; bytes: number; tokens: number }>(
    `SELECT d.path, count(*) AS files, sum(f.size) AS bytes, sum(f.token_count) AS tokens
     FROM files f JOIN folders d ON d.id = f.folder_id
     WHERE f.removed = 0 AND f.status = 'batched' GROUP BY d.path`,
  );
  return rows
    .map(({ path, ...totals }) => ({
      folder: path === root ? '.' : shownPath(path, dirname(root) === root ? undefined : root),
      ...totals,
    }))
    .sort((a, b) => b.tokens - a.tokens);
}
