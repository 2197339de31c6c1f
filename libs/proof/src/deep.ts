import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { queryRows, type Database } from '#database';
import type { CheckResult } from './verify.js';

interface Row {
  id: number;
  path: string;
  path_bytes: string | null;
  size: number;
  hash_value: string;
}

const PAGE = 1_000;
const SHOWN_ROWS = 20;

/** Reads every analysed file again. A file that was edited since is told apart from one that was sent wrongly by the next scan. */
export async function deepCheck(database: Database): Promise<CheckResult[]> {
  const differing: Record<string, unknown>[] = [];
  let found = 0;
  for await (const row of analysedFiles(database)) {
    const now = await hashNow(row);
    if (now === row.hash_value) continue;
    found++;
    if (differing.length < SHOWN_ROWS) differing.push({ id: row.id, path: row.path, now });
  }
  return [
    {
      name: 'tree-as-sent',
      promise: 'every analysed file still has the bytes that were sent (edited since? scan again)',
      ok: found === 0,
      violations: found,
      rows: differing,
    },
  ];
}

async function* analysedFiles(database: Database): AsyncGenerator<Row> {
  for (let after = 0; ;) {
    const rows = await database.read((manager) =>
      queryRows<Row>(
        manager,
        `SELECT id, path, path_bytes, size, hash_value FROM files
         WHERE id > $1 AND removed = 0 AND status = 'analyzed' AND hash_algorithm = 'sha256' ORDER BY id LIMIT ${PAGE}`,
        [after],
      ),
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = Number(last.id);
  }
}

async function hashNow(row: Row): Promise<string> {
  const path = row.path_bytes === null ? row.path : Buffer.from(row.path_bytes, 'base64');
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const hash = createHash('sha256');
      for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
      return hash.digest('hex');
    } finally {
      await handle.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}
