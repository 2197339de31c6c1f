import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database, execute, queryRows } from '#database';
import { Metrics, silentLogger } from '#service';
import { DATABASE_KINDS, testDatabase, type TestDatabase } from '#testing';
import { ensureGroups, tally, type TallyChange } from './letter-groups.repository.js';

const GROUPS = Array.from({ length: 50 }, (_, n) => `group-${n}`);
const change = (fingerprint: string, facts: Partial<TallyChange> = {}): TallyChange => ({
  fingerprint,
  queue: 'q',
  worker: 'w',
  total: 1,
  open: 1,
  lastSeenAt: 10,
  ...facts,
});

describe.each(DATABASE_KINDS)('tally on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics(), maxTries: 1 });
    await database.start();
  });
  beforeEach(() =>
    database.inTransaction(async (tx) => {
      for (const table of ['dead_letter_tallies', 'dead_letter_hours', 'dead_letter_groups'])
        await execute(tx, `DELETE FROM ${table}`);
      await ensureGroups(
        tx,
        GROUPS.map((fingerprint) => ({
          cause: { fingerprint, message: 'message', frame: 'frame' },
          errorName: 'Error',
          errorMessage: 'first message',
          deadLetteredAt: 5,
        })),
      );
    }),
  );
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  const counted = (changes: TallyChange[]): Promise<void> =>
    database.inTransaction((tx) => tally(tx, changes));
  const group = async (fingerprint: string): Promise<object | undefined> =>
    (
      await database.read((manager) =>
        queryRows(manager, 'SELECT * FROM dead_letter_groups WHERE fingerprint = $1', [fingerprint]),
      )
    )[0];

  it('adds to a group and leaves the rest of it as it was', async () => {
    await counted([change('group-1'), change('group-1', { queue: 'other', lastSeenAt: 30 })]);
    await counted([change('group-1', { total: 0, open: -1, lastSeenAt: 0 })]);
    expect(await group('group-1')).toMatchObject({
      fingerprint: 'group-1',
      error_name: 'Error',
      message: 'message',
      frame: 'frame',
      first_seen_at: 5,
      last_seen_at: 30,
      total: 2,
      open: 1,
    });
    expect(await group('group-2')).toMatchObject({ total: 0, open: 0, last_seen_at: 5 });
  });

  it('counts arrivals by the hour, and no other change', async () => {
    const HOUR = 3_600_000;
    await counted([
      change('group-1', { lastSeenAt: 7 * HOUR }),
      change('group-1', { lastSeenAt: 7 * HOUR + 1 }),
    ]);
    await counted([
      change('group-1', { lastSeenAt: 8 * HOUR - 1, worker: 'another' }),
      change('group-1', { lastSeenAt: 8 * HOUR }),
      change('group-1', { total: -1, open: -1, lastSeenAt: 0 }),
    ]);
    const hours = await database.read((manager) =>
      queryRows(manager, 'SELECT fingerprint, queue, hour, arrived FROM dead_letter_hours ORDER BY hour'),
    );
    expect(hours).toEqual([
      { fingerprint: 'group-1', queue: 'q', hour: 7, arrived: 3 },
      { fingerprint: 'group-1', queue: 'q', hour: 8, arrived: 1 },
    ]);
  });

  it('knows the newest message of a cause, whatever the order in which letters come', async () => {
    const cause = { fingerprint: 'group-1', message: 'message', frame: 'frame' };
    const letter = (errorMessage: string, deadLetteredAt: number) => ({
      ...{ cause, errorName: 'Error', errorMessage, deadLetteredAt },
    });
    await database.inTransaction((tx) => ensureGroups(tx, [letter('newest', 9), letter('old', 7)]));
    await counted([change('group-1', { lastSeenAt: 9 })]);
    await database.inTransaction((tx) => ensureGroups(tx, [letter('oldest', 3)]));
    expect(await group('group-1')).toMatchObject({ newest: 'newest', first_seen_at: 3, last_seen_at: 9 });
  });

  it('makes no group of its own', async () => {
    await counted([change('unknown')]);
    expect(await group('unknown')).toBeUndefined();
  });

  it('lets writers of the same groups wait for each other in one order only', async () => {
    const forth = GROUPS.map((name) => change(name));
    const writers = Array.from({ length: 20 }, (_, n) => counted(n % 2 === 0 ? forth : forth.toReversed()));
    await Promise.all(writers);
    const rows = await database.read((manager) =>
      queryRows<{ total: number }>(manager, 'SELECT DISTINCT total FROM dead_letter_groups'),
    );
    expect(rows).toEqual([{ total: 20 }]);
  });
});
