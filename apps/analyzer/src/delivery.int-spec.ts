import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execute, queryRows, type Database } from '#database';
import { Metrics, silentLogger } from '#service';
import { CountingDatabase, DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { batchId, batchParts, delivered, FILES, PARTS, stale, staleFile } from './batch-parts.fixture.js';
import { DeliveryRepository, type DeliveredBatch } from './delivery.repository.js';
import { ManifestRepository } from './manifest.repository.js';
import { OpenBatches } from './open-batches.repository.js';

describe.each(DATABASE_KINDS)('what became of a batch, on %s', (kind) => {
  let home: TestDatabase;
  let database: CountingDatabase;
  let record: (delivery: DeliveredBatch) => Promise<boolean>;
  beforeEach(async () => {
    home = await testDatabase(kind);
    database = new CountingDatabase({ url: home.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    const delivery = new DeliveryRepository(database);
    record = async (batch) => (await delivery.recordAll([batch]))[0] === true;
  });
  afterEach(async () => {
    await database.stop();
    await home.remove();
  });

  it('calls a file analysed although its parts arrive in batches that end at the same time', async () => {
    await batchParts(database);
    for (let fileId = 1; fileId <= FILES; fileId++)
      await Promise.all(Array.from({ length: PARTS }, (_, index) => record(delivered(fileId, index + 1))));
    expect(await statuses(database)).toEqual({ analyzed: FILES });
  });

  it('leaves a file batched while one of its parts is on its way', async () => {
    await batchParts(database);
    for (let part = 2; part <= PARTS; part++) await record(delivered(1, part));
    expect(await statuses(database)).toEqual({ batched: FILES });
    await record(delivered(1, 1));
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
      await expect(record(delivered(1, 1))).rejects.toThrow('rolled back');
      for (const table of ['analyses', 'inbox', 'outbox'])
        expect(await database.read((manager) => queryRows(manager, `SELECT * FROM ${table}`))).toEqual([]);
    });

  it('sets aside a file that was another at each of five deliveries, and no sooner', async () => {
    await batchParts(database);
    const state = (): Promise<object[]> =>
      database.read((manager) =>
        queryRows(manager, 'SELECT status, revision, skip_reason FROM files WHERE id = 1'),
      );
    for (let revision = 1; revision <= 5; revision++) {
      expect(await state()).toMatchObject([{ status: revision === 1 ? 'batched' : 'pending', revision }]);
      await database.inTransaction((tx) => execute(tx, "UPDATE files SET status = 'batched' WHERE id = 1"));
      await record({ ...stale(1, revision, 'changed'), stale: [staleFile(1, 1, 'changed', revision)] });
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
    await record(stale(1, 1, 'changed'));
    const copies = await database.read((manager) =>
      queryRows(manager, 'SELECT status, revision, duplicate_of FROM files WHERE id IN (2, 3)'),
    );
    expect(copies).toEqual(Array(2).fill({ status: 'pending', revision: 2, duplicate_of: null }));
  });

  it('keeps a long answer to a batch of many files once', async () => {
    await batchParts(database);
    await database.inTransaction((tx) =>
      execute(tx, 'UPDATE batch_items SET batch_id = $1 WHERE file_id > 1 AND part = 1', [batchId(1, 1)]),
    );
    const answer = { text: 'x'.repeat(1_000_000) };
    await record({ ...delivered(1, 1), files: FILES, result: answer });
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
    await record(delivered(1, 1));
    const outcomes = async (): Promise<unknown> => {
      const found: unknown[] = [];
      for await (const { id, items } of new ManifestRepository(database).batches())
        found.push([id, items.map(({ outcome }) => outcome)]);
      return found;
    };
    expect(await outcomes()).toEqual([[batchId(1, 1), ['delivered']]]);
    await record(stale(1, 2, 'changed'));
    expect(await outcomes()).toEqual([
      [batchId(1, 1), ['superseded']],
      [batchId(1, 2), ['stale']],
    ]);
  });

  it('records a delivery once, whether its copies come together or one by one', async () => {
    await batchParts(database);
    const answers = await Promise.all([1, 2, 3].map(() => record(delivered(1, 1))));
    expect(answers.sort()).toEqual([false, false, true]);
    const together = [delivered(2, 1), delivered(1, 1), delivered(2, 1)];
    expect(await new DeliveryRepository(database).recordAll(together)).toEqual([true, false, false]);
    const events = await database.read((manager) => queryRows(manager, 'SELECT payload FROM outbox'));
    expect(events).toHaveLength(2);
  });

  it('does not call a file analysed of which another part in the same batch was stale', async () => {
    await batchParts(database);
    await database.inTransaction((tx) =>
      execute(tx, 'UPDATE batch_items SET batch_id = $1 WHERE file_id = 1', [batchId(1, 1)]),
    );
    await record({ id: batchId(1, 1), files: PARTS - 1, stale: [staleFile(1, 5, 'changed')] });
    expect(await statuses(database)).toEqual({ batched: FILES - 1, pending: 1 });
    const outcomes = await database.read((manager) =>
      queryRows(manager, 'SELECT outcome, part FROM analyses ORDER BY outcome, part'),
    );
    expect(outcomes).toHaveLength(PARTS);
    expect(outcomes.at(-1)).toEqual({ outcome: 'stale', part: 5 });
  });

  if (kind === 'sqlite')
    it('reads no table from end to end, whatever became of a batch', async () => {
      await batchParts(database);
      const asked = await database.statementsOf(async () => {
        await new OpenBatches(database).find([batchId(1, 1)]);
        await record({ ...stale(1, 1, 'changed'), stale: [staleFile(1, 1, 'changed')] });
      });
      const plans = await database.read((manager) =>
        Promise.all(
          asked
            .filter(({ sql }) => sql !== 'COMMIT' && !/FROM roots/.test(sql))
            .map(({ sql, params }) =>
              queryRows<{ detail: string }>(manager, `EXPLAIN QUERY PLAN ${sql}`, params),
            ),
        ),
      );
      expect(plans).toHaveLength(11);
      const details = plans.flat().map(({ detail }) => detail);
      expect(details.filter((detail) => /SCAN (?!v\b|sent\b|jsonb_each|CONSTANT ROW)/.test(detail))).toEqual(
        [],
      );
    });

  it('asks the database as often for many batches as for one', async () => {
    await batchParts(database);
    const [open, deliveries] = [new OpenBatches(database), new DeliveryRepository(database)];
    const parts = Array.from({ length: PARTS - 1 }, (_, index) => index + 1);
    const batches = Array.from({ length: FILES - 1 }, (_, index) => index + 2).flatMap((fileId) =>
      parts.map((part) => delivered(fileId, part)),
    );
    const ids = batches.map(({ id }) => id);
    const lock = kind === 'postgres' ? 1 : 0;
    const countOf = async (work: () => Promise<unknown>): Promise<number> =>
      (await database.statementsOf(work)).length;
    expect(await countOf(() => open.find(ids))).toBe(2);
    expect(await countOf(() => deliveries.recordAll(batches))).toBe(6 + lock);
    expect(await countOf(() => deliveries.recordAll([delivered(1, 1)]))).toBe(6 + lock);
    expect(await countOf(() => deliveries.recordAll(batches))).toBe(2);
    expect(await open.find([batchId(1, 2), batchId(2, 1), 'stranger'])).toEqual([
      expect.objectContaining({ id: batchId(1, 2), itemCount: 1, totalTokens: 1 }),
      'delivered',
      undefined,
    ]);
  });
});

async function statuses(database: Database): Promise<Record<string, number>> {
  const rows = await database.read((manager) =>
    queryRows<{ status: string; count: number }>(
      manager,
      'SELECT status, count(*) AS count FROM files GROUP BY status',
    ),
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]));
}
