import { bulkInsert, execute, type Database } from '#database';
import type { DeliveredBatch } from './delivery.repository.js';
import type { StaleFile, StaleReason } from './render-batch.thread.js';

export const PARTS = 8;
export const FILES = 10;

export const batchId = (fileId: number, part: number): string => `b-${fileId}-${part}`;

export function staleFile(fileId: number, part: number, reason: StaleReason, revision = 1): StaleFile {
  return { fileId, revision, part, parts: PARTS, path: `/r/f-${fileId}`, reason };
}

export const delivered = (fileId: number, part: number): DeliveredBatch => ({
  ...{ id: batchId(fileId, part), files: 1, stale: [] },
});

export const stale = (fileId: number, part: number, reason: StaleReason): DeliveredBatch => ({
  ...{ id: batchId(fileId, part), files: 0, stale: [staleFile(fileId, part, reason)] },
});

/** Files of which every part lies in a batch of its own. */
export async function batchParts(database: Database): Promise<void> {
  await database.inTransaction(async (tx) => {
    await execute(tx, "INSERT INTO roots (id, path, path_key, created_at) VALUES (1, '/r', '/r', 0)");
    await execute(
      tx,
      `INSERT INTO folders (id, root_id, path, path_key, depth, first_scanned_at, last_scanned_at, last_scan_id)
       VALUES (1, 1, '/r', '/r', 0, 0, 0, 1)`,
    );
    for (let fileId = 1; fileId <= FILES; fileId++)
      await execute(
        tx,
        `INSERT INTO files (id, root_id, folder_id, name, path, size, mtime_ns, ctime_ns, inode,
           first_scanned_at, last_scanned_at, last_scan_id, status)
         VALUES ($1, 1, 1, $2, $3, 8, '1', '1', '1', 0, 0, 1, 'batched')`,
        [fileId, `f-${fileId}`, `/r/f-${fileId}`],
      );
    const parts = Array.from({ length: FILES * PARTS }, (_, index) => ({
      fileId: Math.floor(index / PARTS) + 1,
      part: (index % PARTS) + 1,
    }));
    await bulkInsert(tx, {
      table: 'batches',
      columns: {
        ...({ id: 'text', total_tokens: 'int', max_tokens: 'int', item_count: 'int' } as const),
        ...({ created_by: 'text', created_at: 'int' } as const),
      },
      rows: parts.map(({ fileId, part }) => [batchId(fileId, part), 1, 10, 1, 'test', 0]),
    });
    await bulkInsert(tx, {
      table: 'batch_items',
      columns: {
        ...({ file_id: 'int', revision: 'int', part: 'int', parts: 'int', batch_id: 'text' } as const),
        ...({ byte_start: 'int', byte_end: 'int', tokens: 'int', content_hash: 'text' } as const),
      },
      rows: parts.map(({ fileId, part }) => [
        ...[fileId, 1, part, PARTS, batchId(fileId, part)],
        ...[part - 1, part, 1, 'h'],
      ]),
    });
  });
}
