import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { armFault } from '#service';
import {
  DATABASE_KINDS,
  guardLeaks,
  serviceContract,
  spawnBuilt,
  tempFolder,
  testDatabase,
  type DatabaseKind,
  type TestDatabase,
} from '#testing';
import { allRows, createDatabase, openDatabase } from './database.fixture.js';
import { deferred } from './deferred.fixture.js';
import type { Database } from './database.service.js';
import { FenceEntity } from './entities/message.entity.js';
import { queryRows } from './query.js';

// A start of a process costs a second of a core.
const PROCESSES = process.env.MILLRACE_TORTURE === 'full' ? 8 : 4;

const keys = async (database: Database): Promise<string[]> =>
  (await allRows<{ key: string }>(database, 'SELECT key FROM fences ORDER BY key')).map(({ key }) => key);
const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
const insert = (key: string): string => `INSERT INTO fences (key, fence) VALUES ('${key}', 1)`;

// The guard looks after the inner hooks have closed what they opened.
describe('transactions', () => {
  guardLeaks();
  describe.each(DATABASE_KINDS)('a transaction on %s', transactions);
});

function transactions(kind: DatabaseKind): void {
  let target: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    target = await testDatabase(kind);
    database = await openDatabase(target.url);
  });
  afterEach(async () => {
    armFault(undefined);
    await database.stop();
    await target.remove();
  });

  it('commits what its callback wrote and returns its value', async () => {
    const value = await database.inTransaction(async (tx) => {
      await tx.query(insert('a'));
      return 42;
    });
    expect(value).toBe(42);
    expect(await keys(database)).toEqual(['a']);
  });

  it('rolls back everything when its callback throws, and throws the same error', async () => {
    const failure = new Error('no');
    const failed = database.inTransaction(async (tx) => {
      await tx.query(insert('a'));
      throw failure;
    });
    await expect(failed).rejects.toBe(failure);
    expect(await keys(database)).toEqual([]);
  });

  it('leaves the database usable after a statement failed', async () => {
    await expect(database.inTransaction((tx) => tx.query('SELECT nonsense'))).rejects.toThrow(/nonsense/);
    await database.inTransaction((tx) => tx.query(insert('a')));
    expect(await keys(database)).toEqual(['a']);
  });

  it('is ended whole with its statement that takes too long, and the database goes on', async () => {
    const impatient = await openDatabase(target.url, { statementTimeoutMs: 100 });
    const tooSlow = { code: 'STATEMENT_TIMEOUT', message: expect.stringMatching(/ask for less|raise/) };
    const writing = impatient.inTransaction(async (tx) => {
      await tx.query(insert('a'));
      await tx.query(`INSERT INTO fences (key, fence) SELECT 'n' || i, i FROM (${ENDLESS}) AS n`);
    });
    await expect(writing).rejects.toMatchObject(tooSlow);
    const reading = impatient.inTransaction(async (tx) => {
      await tx.query(insert('b'));
      await tx.query(`SELECT count(*) FROM (${ENDLESS}) AS n`);
    });
    await expect(reading).rejects.toMatchObject(tooSlow);
    await impatient.inTransaction((tx) => tx.query(insert('c')));
    expect(await keys(impatient)).toEqual(['c']);
    await impatient.stop();
  });

  it('works with TypeORM repositories, which do not begin their own', async () => {
    const failed = database.inTransaction(async (tx) => {
      await tx.save(FenceEntity, { key: 'a', fence: 1 });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    await database.inTransaction((tx) => tx.save(FenceEntity, { key: 'b', fence: 7 }));
    expect(await database.read((m) => m.find(FenceEntity))).toEqual([{ key: 'b', fence: 7 }]);
  });

  it('is not seen by reads before it commits', async () => {
    const inside = deferred();
    const looked = deferred();
    const transaction = database.inTransaction(async (tx) => {
      await tx.query(insert('a'));
      inside.resolve();
      await looked.promise;
    });
    await inside.promise;
    expect(await keys(database)).toEqual([]);
    looked.resolve();
    await transaction;
    expect(await keys(database)).toEqual(['a']);
  });

  it('is joined by transactions and reads within it', async () => {
    const failed = database.inTransaction(async (tx) => {
      await database.inTransaction((inner) => {
        expect(inner).toBe(tx);
        return inner.query(insert('a'));
      });
      expect(await keys(database)).toEqual(['a']);
      throw new Error('the outer one fails');
    });
    await expect(failed).rejects.toThrow('the outer one fails');
    expect(await keys(database)).toEqual([]);
  });

  it('that is not ambient is not joined by reads and transactions within it', async () => {
    let late: Promise<unknown> = Promise.resolve();
    await database.inTransaction(
      async (tx) => {
        await tx.query(insert('a'));
        expect(await keys(database)).toEqual([]);
        late = database.inTransaction(async (own) => {
          expect(own).not.toBe(tx);
          await own.query(insert('b'));
        });
      },
      { ambient: false },
    );
    await late;
    expect(await keys(database)).toEqual(['a', 'b']);
  });

  it('that is not ambient rolls back alone: what began within it keeps its own commit', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const failed = database.inTransaction(
      async (tx) => {
        await tx.query(insert('a'));
        late = database.inTransaction((own) => own.query(insert('b')));
        throw new Error('the outer one fails');
      },
      { ambient: false },
    );
    await expect(failed).rejects.toThrow('the outer one fails');
    await late;
    expect(await keys(database)).toEqual(['b']);
  });

  it('that is not ambient joins the one around it', async () => {
    const failed = database.inTransaction(async (tx) => {
      await database.inTransaction(
        (inner) => {
          expect(inner).toBe(tx);
          return inner.query(insert('a'));
        },
        { ambient: false },
      );
      throw new Error('the outer one fails');
    });
    await expect(failed).rejects.toThrow('the outer one fails');
    expect(await keys(database)).toEqual([]);
  });

  it('is not joined by work that outlives it, and its manager refuses to write', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const ended = deferred();
    await database.inTransaction(async (tx) => {
      late = ended.promise.then(async () => {
        await expect(tx.query(insert('late'))).rejects.toThrow(/released/);
        await database.inTransaction((own) => own.query(insert('own')));
      });
      await tx.query(insert('a'));
    });
    ended.resolve();
    await late;
    expect(await keys(database)).toEqual(['a', 'own']);
  });

  it('that takes too long is rolled back with a clear error, and others go on', async () => {
    await database.stop();
    database = await openDatabase(target.url, { transactionTimeoutMs: 200 });
    const stuck = database.inTransaction(async (tx) => {
      await tx.query(insert('a'));
      await new Promise(() => {});
    });
    await expect(stuck).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' });
    await database.inTransaction((tx) => tx.query(insert('b')));
    expect(await keys(database)).toEqual(['b']);
  });

  it('leaves nothing when it fails just before the commit, and everything when just after', async () => {
    armFault('database.before-commit:1:throw');
    await expect(database.inTransaction((tx) => tx.query(insert('a')))).rejects.toThrow('fault injected');
    expect(await keys(database)).toEqual([]);
    armFault('database.after-commit:1:throw');
    await expect(database.inTransaction((tx) => tx.query(insert('b')))).rejects.toThrow('fault injected');
    armFault(undefined);
    expect(await keys(database)).toEqual(['b']);
  });

  it('can run many times at once: 200 read-then-write increments lose none', async () => {
    await database.inTransaction((tx) => tx.query(insert('counter')));
    const increment = (): Promise<unknown> =>
      database.inTransaction(async (tx) => {
        const lock = kind === 'postgres' ? 'FOR UPDATE' : '';
        const [row] = await queryRows<{ fence: number }>(
          tx,
          `SELECT fence FROM fences WHERE key = 'counter' ${lock}`,
        );
        await tx.query(`UPDATE fences SET fence = ${(row?.fence ?? 0) + 1} WHERE key = 'counter'`);
      });
    await Promise.all(Array.from({ length: 200 }, increment));
    expect(await allRows(database, 'SELECT fence FROM fences')).toEqual([{ fence: 201 }]);
  });

  it('has reads with a shorter limit, behind which nobody waits', async () => {
    const slow = database.read((m) => queryRows(m, `SELECT count(*) FROM (${ENDLESS}) AS n`), {
      statementTimeoutMs: 300,
    });
    const ended = expect(slow).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
    const first = await Promise.race([slow.catch(() => ['the slow one']), keys(database)]);
    expect(first).toEqual([]);
    await ended;
    expect(await database.read((m) => queryRows(m, 'SELECT 1 AS n'), { statementTimeoutMs: 300 })).toEqual([
      { n: 1 },
    ]);
  });

  it('in a snapshot, all statements see the same moment', async () => {
    await database.inTransaction((tx) => tx.query(insert('a')));
    await database.snapshot(async (manager) => {
      const count = (): Promise<{ n: number }[]> => queryRows(manager, 'SELECT count(*) AS n FROM fences');
      expect(await count()).toEqual([{ n: 1 }]);
      // Outside of the snapshot's context, as another process would.
      await database.inTransaction((tx) => tx.query(insert('b')));
      expect(await count()).toEqual([{ n: 1 }]);
    });
    expect(await keys(database)).toEqual(['a', 'b']);
  });

  it('is refused before start and after stop', async () => {
    await database.stop();
    await expect(database.inTransaction(async () => 1)).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
    await expect(database.read(async () => 1)).rejects.toMatchObject({ code: 'DATABASE_CLOSED' });
  });

  it('that runs is awaited by stop', async () => {
    const go = deferred();
    const inside = deferred();
    const transaction = database.inTransaction(async (tx) => {
      inside.resolve();
      await go.promise;
      await tx.query(insert('a'));
    });
    await inside.promise;
    const stopping = database.stop();
    go.resolve();
    await Promise.all([transaction, stopping]);
    database = await openDatabase(target.url);
    expect(await keys(database)).toEqual(['a']);
  });

  it(`never fails nor loses an update with ${PROCESSES} processes writing at once`, async () => {
    await database.inTransaction((tx) => tx.query(insert('counter')));
    const folder = await tempFolder('writers');
    const start = join(folder.path, 'start');
    const each = 25;
    const writers = Array.from({ length: PROCESSES }, () =>
      spawnBuilt('libs/database/testing/write.process', [target.url, String(each), start]),
    );
    await Promise.all(writers.map((child) => child.output('ready', 60_000)));
    await writeFile(start, '');
    await Promise.all(writers.map((child) => child.exited));
    expect(writers.flatMap((child) => child.logs())).toEqual(writers.map(() => ({ errors: [] })));
    expect(await allRows(database, 'SELECT fence FROM fences')).toEqual([{ fence: 1 + PROCESSES * each }]);
    await folder.remove();
  }, 120_000);
}

describe.each(DATABASE_KINDS)('the database on %s', (kind) => {
  const targets: TestDatabase[] = [];
  afterEach(async () => {
    await Promise.all(targets.splice(0).map((target) => target.remove()));
  });
  serviceContract(
    'Database',
    async () => {
      const target = await testDatabase(kind);
      targets.push(target);
      return createDatabase(target.url);
    },
    (service) => (service as Database).isOpen,
  );
});
