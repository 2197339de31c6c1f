import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchFile } from '#contracts';
import { bulkInsert, Database, execute, queryRows } from '#database';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import type { LoadedBatch } from './batch-reader.js';
import { DeliveryRepository } from './delivery.repository.js';
import { ManifestRepository } from './manifest.repository.js';

const PARTS = 8;
const FILES = 10;

describe.each(DATABASE_KINDS)('what became of a batch, on %s', (kind) => {
  let home: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    home = await testDatabase(kind);
    database = new Database({ url: home.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
  });
  afterEach(async () => {
    await database.stop();
    await home.remove();
  });

  it('calls a file analysed although its parts arrive in batches that end at the same time', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    for (let fileId = 1; fileId <= FILES; fileId++)
      await Promise.all(
        Array.from({ length: PARTS }, (_, index) =>
          delivery.recordOnce(loaded(fileId, index + 1), undefined),
        ),
      );
    expect(await statuses(database)).toEqual({ analyzed: FILES });
  });

  it('leaves a file batched while one of its parts is on its way', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    for (let part = 2; part <= PARTS; part++) await delivery.recordOnce(loaded(1, part), undefined);
    expect(await statuses(database)).toEqual({ batched: FILES });
    await delivery.recordOnce(loaded(1, 1), undefined);
    expect(await statuses(database)).toEqual({ analyzed: 1, batched: FILES - 1 });
  });

  // What an I/O error does; PostgreSQL refuses all that follows a failed statement.
  if (kind === 'sqlite')
    it('leaves nothing behind when the database rolls back by itself in the middle', async () => {
      await batchParts(database);
      await database.inTransaction((tx) =>
        execute(
          tx,
          "CREATE TRIGGER torn BEFORE INSERT ON analyses BEGIN SELECT RAISE(ROLLBACK, 'rolled back'); END",
        ),
      );
      const delivery = new DeliveryRepository(database);
      await expect(delivery.recordOnce(loaded(1, 1), undefined)).rejects.toThrow('rolled back');
      for (const table of ['analyses', 'inbox', 'outbox'])
        expect(await database.read((manager) => queryRows(manager, `SELECT * FROM ${table}`))).toEqual([]);
    });

  it('sets aside a file that was another at each of five deliveries, and no sooner', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    const state = (): Promise<object[]> =>
      database.read((manager) =>
        queryRows(manager, 'SELECT status, revision, skip_reason FROM files WHERE id = 1'),
      );
    for (let revision = 1; revision <= 5; revision++) {
      expect(await state()).toMatchObject([{ status: revision === 1 ? 'batched' : 'pending', revision }]);
      await database.inTransaction((tx) => execute(tx, "UPDATE files SET status = 'batched' WHERE id = 1"));
      const batch = loaded(1, revision);
      const [{ file }] = batch.files as [LoadedBatch['files'][number]];
      const stale = [{ file: { ...file, part: 1, revision }, reason: 'changed' as const }];
      await delivery.recordOnce({ ...batch, files: [], stale }, undefined);
    }
    expect(await state()).toEqual([{ status: 'skipped', revision: 5, skip_reason: 'changed' }]);
  });

  it('has a copy looked at again when the file that stood for it was not sent', async () => {
    await batchParts(database);
    await database.inTransaction((tx) =>
      execute(
        tx,
        "UPDATE files SET status = 'skipped', skip_reason = 'duplicate', duplicate_of = 1 WHERE id IN (2, 3)",
      ),
    );
    const batch = loaded(1, 1);
    const stale = batch.files.map(({ file }) => ({ file, reason: 'changed' as const }));
    await new DeliveryRepository(database).recordOnce({ ...batch, files: [], stale }, undefined);
    const copies = await database.read((manager) =>
      queryRows(manager, 'SELECT status, revision, duplicate_of FROM files WHERE id IN (2, 3)'),
    );
    expect(copies).toEqual(Array(2).fill({ status: 'pending', revision: 2, duplicate_of: null }));
  });

  it('keeps a long answer to a batch of many files once', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    const answer = { text: 'x'.repeat(1_000_000) };
    const { files } = loaded(1, 1);
    await delivery.recordOnce({ ...loaded(1, 1), files: [...files, ...loaded(2, 1).files] }, answer);
    const [row] = await database.read((manager) =>
      queryRows<{ batch: number; files: number }>(
        manager,
        `SELECT (SELECT length(answer) FROM batches WHERE id = $1) AS batch,
           (SELECT count(result) FROM analyses WHERE batch_id = $1) AS files`,
        [batchId(1, 1)],
      ),
    );
    expect({ batch: Number(row?.batch), files: Number(row?.files) }).toEqual({
      batch: JSON.stringify(answer).length,
      files: 0,
    });
  });

  it('tells in the manifest that parts sent before their file changed are superseded', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    await delivery.recordOnce(loaded(1, 1), undefined);
    const manifest = new ManifestRepository(database);
    expect(await manifest.itemsOf(batchId(1, 1))).toMatchObject([{ outcome: 'delivered' }]);
    const torn = loaded(1, 2);
    const stale = torn.files.map(({ file }) => ({ file, reason: 'changed' as const }));
    await delivery.recordOnce({ ...torn, files: [], stale }, undefined);
    expect(await manifest.itemsOf(batchId(1, 1))).toMatchObject([{ outcome: 'superseded' }]);
    expect(await manifest.itemsOf(batchId(1, 2))).toMatchObject([{ outcome: 'stale' }]);
  });

  it('records a delivery once', async () => {
    await batchParts(database);
    const delivery = new DeliveryRepository(database);
    const answers = await Promise.all([1, 2, 3].map(() => delivery.recordOnce(loaded(1, 1), undefined)));
    expect(answers.sort()).toEqual([false, false, true]);
  });
});

const batchId = (fileId: number, part: number): string => `b-${fileId}-${part}`;

function loaded(fileId: number, part: number): LoadedBatch {
  const file: BatchFile = {
    ...{ fileId, revision: 1, path: `/r/f-${fileId}`, tokens: 1 },
    ...{ part, parts: PARTS, start: part - 1, end: part, hash: 'h' },
  };
  return {
    id: batchId(fileId, part),
    totalTokens: 1,
    files: [{ file, path: file.path, bytes: Buffer.from('x') }],
    stale: [],
  };
}

/** Files of which every part lies in a batch of its own. */
async function batchParts(database: Database): Promise<void> {
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

async function statuses(database: Database): Promise<Record<string, number>> {
  const rows = await database.read((manager) =>
    queryRows<{ status: string; count: number }>(
      manager,
      'SELECT status, count(*) AS count FROM files GROUP BY status',
    ),
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}
