import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import type { Database } from '#database';
import { openDatabase } from '../../database/src/database.fixture.js';
import { deferred } from '../../database/src/deferred.fixture.js';
import { DatabaseFences } from './database-fences.js';

describe.each(DATABASE_KINDS)('fences on %s', (kind) => {
  let target: TestDatabase;
  let database: Database;
  let fences: DatabaseFences;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
    fences = new DatabaseFences(database);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  const issue = (key: string): Promise<number> => fences.issue(key);
  const writeIfFence = (key: string, fence: number): Promise<void> =>
    database.inTransaction(async (tx) => {
      await tx.query("INSERT INTO inbox (consumer, event_id, received_at) VALUES ('c', 'e', 1)");
      await fences.assert(tx, { key, fence });
    });
  const written = (): Promise<object[]> => database.rows('SELECT event_id FROM inbox');

  it('grow strictly for each key, whoever asks at the same time', async () => {
    const issued = await Promise.all(Array.from({ length: 50 }, () => issue('a')));
    expect([...issued].sort((x, y) => x - y)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(await issue('b')).toBe(1);
  });

  it('let the newest holder write', async () => {
    await issue('a');
    await writeIfFence('a', await issue('a'));
    expect(await written()).toEqual([{ event_id: 'e' }]);
  });

  it('refuse an older holder, and nothing of its transaction remains', async () => {
    const old = await issue('a');
    const newest = await issue('a');
    await expect(writeIfFence('a', old)).rejects.toMatchObject({
      code: 'STALE_FENCE',
      key: 'a',
      fence: old,
      newest,
    });
    expect(await written()).toEqual([]);
  });

  it('refuse a fence that was never issued', async () => {
    await expect(writeIfFence('unknown', 1)).rejects.toMatchObject({ code: 'STALE_FENCE' });
    const newest = await issue('a');
    await expect(writeIfFence('a', newest + 1)).rejects.toMatchObject({ code: 'STALE_FENCE' });
  });

  it('are not issued between the check and the commit of a holder', async () => {
    const mine = await issue('a');
    const events: string[] = [];
    const [checked, go] = [deferred(), deferred()];
    const writing = database
      .inTransaction(async (tx) => {
        await fences.assert(tx, { key: 'a', fence: mine });
        checked.resolve();
        await go.promise;
        events.push('about to commit');
      })
      .then(() => events.push('committed'));
    await checked.promise;
    const taking = issue('a').then(() => events.push('taken over'));
    // A takeover that did not wait for the lock would be through by the time these have come back.
    for (let n = 0; n < 20; n++) await database.rows('SELECT 1 AS one');
    go.resolve();
    await Promise.all([writing, taking]);
    expect(events[0]).toBe('about to commit');
    expect(events).toContain('taken over');
  });

  it('are shared by several transactions of one holder at once', async () => {
    const mine = await issue('a');
    await Promise.all(
      Array.from({ length: 5 }, () =>
        database.inTransaction((tx) => fences.assert(tx, { key: 'a', fence: mine })),
      ),
    );
    expect(await database.rows('SELECT fence FROM fences')).toEqual([{ fence: mine }]);
  });
});
