import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database, execute, queryRows, type EntityManager } from '#database';
import { Metrics, silentLogger, withTrace } from '#service';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { append, appendAll, Inbox } from './index.js';

const empty = (database: Database): Promise<void> =>
  database.inTransaction(async (tx) => {
    for (const table of ['outbox', 'inbox', 'batches', 'dead_letters'])
      await execute(tx, `DELETE FROM ${table}`);
  });

describe.each(DATABASE_KINDS)('append on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  const inbox = new Inbox();

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
  });
  beforeEach(() => empty(database));
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  const rows = (): Promise<Record<string, unknown>[]> =>
    database.read((manager) => queryRows(manager, 'SELECT * FROM outbox ORDER BY created_at, id'));

  it('writes a pending event that is due at once', async () => {
    const id = await database.inTransaction((tx) => append(tx, { queue: 'q', payload: { a: 1 } }));
    expect(await rows()).toEqual([
      expect.objectContaining({
        id,
        queue: 'q',
        event_name: 'q',
        payload: '{"a":1}',
        status: 'PENDING',
        available_at: 0,
        attempts: 0,
      }),
    ]);
  });

  it('leaves nothing of a transaction that rolls back', async () => {
    const rolledBack = database.inTransaction(async (tx) => {
      await append(tx, { queue: 'q', payload: {} });
      throw new Error('the business fails');
    });
    await expect(rolledBack).rejects.toThrow('the business fails');
    expect(await rows()).toEqual([]);
  });

  it('refuses to write outside a transaction', async () => {
    let kept: EntityManager | undefined;
    await database.inTransaction(async (tx) => void (kept = tx));
    const late = kept as EntityManager;
    const outside = { code: 'OUTBOX_NO_TRANSACTION' };
    await expect(append(late, { queue: 'q', payload: {} })).rejects.toMatchObject(outside);
    await expect(
      database.read((manager) => append(manager, { queue: 'q', payload: {} })),
    ).rejects.toMatchObject(outside);
    await expect(database.read((manager) => inbox.record(manager, 'c', 'e'))).rejects.toMatchObject(outside);
    expect(await rows()).toEqual([]);
  });

  it('refuses a second event of the same id', async () => {
    const once = (): Promise<string> =>
      database.inTransaction((tx) => append(tx, { id: 'batch-1', queue: 'q', payload: {} }));
    await once();
    await expect(once()).rejects.toThrow();
    expect(await rows()).toHaveLength(1);
  });

  it('keeps the trace of the work that appended it, the time it is for, and its options', async () => {
    const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    await withTrace(trace, () =>
      database.inTransaction((tx) =>
        append(tx, {
          queue: 'q',
          eventName: 'file-renamed',
          payload: {},
          availableAt: 4_000_000_000_000,
          jobOptions: { priority: 2 },
        }),
      ),
    );
    expect((await rows())[0]).toMatchObject({
      trace,
      event_name: 'file-renamed',
      available_at: 4_000_000_000_000,
      job_options: '{"priority":2}',
    });
  });

  it('writes thousands of events in one call and returns their ids in the order given', async () => {
    const events = Array.from({ length: 6_000 }, (_, n) => ({ queue: 'q', payload: { n } }));
    const ids = await database.inTransaction((tx) => appendAll(tx, events));
    const stored = new Map((await rows()).map((row) => [row.id, row.payload]));
    expect(ids.map((id) => stored.get(id))).toEqual(events.map(({ payload }) => JSON.stringify(payload)));
  });

  it('sorts events of one key as they were appended, whatever their ids', async () => {
    await database.inTransaction((tx) =>
      appendAll(
        tx,
        ['z', 'm', 'a'].map((id) => ({ id, queue: 'q', payload: {}, orderingKey: 'k' })),
      ),
    );
    await database.inTransaction((tx) => append(tx, { id: '0', queue: 'q', payload: {}, orderingKey: 'k' }));
    expect((await rows()).map(({ id }) => id)).toEqual(['z', 'm', 'a', '0']);
  });

  it('stores text that the database itself would refuse', async () => {
    const payload = { text: 'a\0b\ud800' };
    await database.inTransaction((tx) => append(tx, { queue: 'q', payload }));
    expect(JSON.parse(String((await rows())[0]?.payload))).toEqual(payload);
  });

  it('lets a consumer have an event once, and again after a rollback', async () => {
    const record = (): Promise<boolean> => database.inTransaction((tx) => inbox.record(tx, 'analyzer', 'e1'));
    await database
      .inTransaction(async (tx) => {
        await inbox.record(tx, 'analyzer', 'e1');
        throw new Error('effect failed');
      })
      .catch(() => {});
    expect([await record(), await record()]).toEqual([true, false]);
    expect(await database.inTransaction((tx) => inbox.record(tx, 'another', 'e1'))).toBe(true);
  });

  it('lets one of many concurrent deliveries have the event', async () => {
    const firsts = await Promise.all(
      Array.from({ length: 8 }, () => database.inTransaction((tx) => inbox.record(tx, 'c', 'e'))),
    );
    expect(firsts.filter(Boolean)).toHaveLength(1);
  });
});
