import { createHash, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchEvent, BatchFile } from '#contracts';
import { execute, queryRows, type Database, type EntityManager } from '#database';

/** Writes files into `folder` and a committed batch of them into the database, as producer and batcher would have. */
export async function seedBatch(
  database: Database,
  folder: string,
  contents: Record<string, string>,
): Promise<BatchEvent> {
  const id = randomUUID();
  return database.inTransaction(async (tx) => {
    const folderId = await seedFolder(tx, folder);
    const names = Object.keys(contents);
    await execute(
      tx,
      `INSERT INTO batches (id, total_tokens, max_tokens, item_count, created_by, created_at) VALUES ($1, $2, 1000, $2, 'test', 1)`,
      [id, names.length],
    );
    const files: BatchFile[] = [];
    for (const name of names)
      files.push(await seedFile(tx, folderId, folder, name, contents[name] ?? '', id));
    return { id, totalTokens: names.length, files };
  });
}

async function seedFolder(tx: EntityManager, path: string): Promise<number> {
  const insert = async (sql: string, params: (string | number)[]): Promise<number> => {
    const [row] = await queryRows<{ id: number }>(tx, `${sql} RETURNING id`, params);
    return Number(row?.id);
  };
  const key = randomUUID();
  const root = await insert('INSERT INTO roots (path, path_key, created_at) VALUES ($1, $2, 1)', [path, key]);
  return insert(
    `INSERT INTO folders (root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id)
     VALUES ($1, $2, $3, 0, 1, 1, 1)`,
    [root, path, key],
  );
}

async function seedFile(
  tx: EntityManager,
  folderId: number,
  folder: string,
  name: string,
  content: string,
  batchId: string,
): Promise<BatchFile> {
  const path = join(folder, name);
  await writeFile(path, content);
  const hash = createHash('sha256').update(content).digest('hex');
  const end = Buffer.byteLength(content);
  const [row] = await queryRows<{ id: number }>(
    tx,
    `INSERT INTO files (root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode, status, hash_value, hash_algorithm,
       token_count, first_scanned_at, last_scanned_at, last_scan_id)
     VALUES (1, $1, $2, $3, $4, '1', '1', '1', 'batched', $5, 'sha256', 1, 1, 1, 1) RETURNING id`,
    [folderId, name, path, end, hash],
  );
  const fileId = Number(row?.id);
  await execute(
    tx,
    `INSERT INTO batch_items (file_id, revision, part, parts, batch_id, byte_start, byte_end, tokens, content_hash)
     VALUES ($1, 1, 1, 1, $2, 0, $3, 1, $4)`,
    [fileId, batchId, end, hash],
  );
  return { fileId, revision: 1, path, tokens: 1, part: 1, parts: 1, start: 0, end, hash };
}
