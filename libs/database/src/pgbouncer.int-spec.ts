import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { silentLogger } from '#service';
import {
  emptyDatabase,
  guardLeaks,
  startPgBouncer,
  testDatabase,
  type PgBouncer,
  type PgBouncerOptions,
  type TestDatabase,
} from '#testing';
import { allRows, createDatabase, openDatabase, registerFiles } from './database.fixture.js';
import type { Database } from './database.service.js';
import { FenceEntity, FileEntity } from './entities/index.js';
import { FileClaims } from './file-claims.repository.js';
import { execute, queryOne } from './query.js';

const IGNORED = 'extra_float_digits,options,statement_timeout,idle_in_transaction_session_timeout';
const SETTINGS = `SELECT current_setting('statement_timeout') AS limit, current_setting('search_path') AS path,
  current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('transaction_read_only') AS readonly`;

// The guard looks after the inner hooks have closed what they opened.
describe('PgBouncer', () => {
  guardLeaks();
  describe.each<[string, Partial<PgBouncerOptions>]>([
    ['in transaction mode', {}],
    ['in transaction mode that ignores startup parameters', { ignored: IGNORED }],
    ['in session mode', { mode: 'session' }],
  ])('%s before our database', (_, options) => pooled(options));

  it.each(['directly', 'through a pooler'])(
    'costs a read outside of a transaction nothing %s but what it must',
    async (how) => {
      const target = await testDatabase('postgres');
      const pooler = await startPgBouncer({ target: target.url });
      const direct = how === 'directly';
      const database = await openDatabase(direct ? target.url : pooler.url);
      const asked = jest.spyOn(pg.Client.prototype, 'query');
      await database.repository(FileEntity).countBy({ id: 1 });
      const statements = asked.mock.calls.map(([sql]) => String(sql).split(' ')[0]);
      asked.mockRestore();
      expect(statements).toEqual(direct ? ['SELECT'] : ['START', 'SELECT', 'COMMIT']);
      await database.stop();
      await pooler.stop();
      await target.remove();
    },
  );

  it('in statement mode cannot carry a transaction, and the start says so', async () => {
    const target = await testDatabase('postgres');
    const pooler = await startPgBouncer({ target: target.url, mode: 'statement' });
    await expect(createDatabase(pooler.url).start()).rejects.toMatchObject({
      code: 'SETTINGS_NOT_IN_FORCE',
      fatal: true,
      message: expect.stringMatching(/statement pooling.*pool_mode/s),
    });
    await pooler.stop();
    await target.remove();
  });
});

function pooled(options: Partial<PgBouncerOptions>): void {
  let target: TestDatabase;
  let pooler: PgBouncer;
  let database: Database;
  beforeEach(async () => {
    target = await emptyDatabase('postgres');
    pooler = await startPgBouncer({ target: target.url, ...options });
    database = await openDatabase(`${pooler.url}?schema=mill`, { statementTimeoutMs: 1_000 });
  });
  afterEach(async () => {
    await database.stop();
    await pooler.stop();
    await target.remove();
  });

  it.each(['a transaction', 'a read', 'a snapshot'])(
    'has its limits and its schema in force in %s',
    async (what) => {
      const ask = (manager: Parameters<typeof queryOne>[0]): Promise<object> => queryOne(manager, SETTINGS);
      const found =
        what === 'a transaction'
          ? database.inTransaction(ask)
          : what === 'a read'
            ? database.read(ask)
            : database.snapshot(ask);
      const readonly = what === 'a transaction' ? 'off' : 'on';
      expect(await found).toEqual({ limit: '1s', path: 'mill', idle: '1min', readonly });
    },
  );

  it('ends a statement over its limit, in a transaction and in a read', async () => {
    const slow = 'SELECT pg_sleep(20)';
    await expect(database.inTransaction((tx) => tx.query(slow))).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
    });
    await expect(database.read((manager) => manager.query(slow))).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
    });
    expect(await allRows(database, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('refuses a write through a reader', async () => {
    const write = "INSERT INTO fences (key, fence) VALUES ('k', 1)";
    await expect(database.read((manager) => manager.query(write))).rejects.toThrow(/read-only transaction/);
    const fences = database.repository(FenceEntity);
    await expect(fences.insert({ key: 'k', fence: 1 })).rejects.toThrow(/read-only transaction/);
    await expect(fences.save({ key: 'k', fence: 1 })).rejects.toThrow(/read-only transaction/);
    expect(await allRows(database, 'SELECT 1 FROM fences')).toEqual([]);
  });

  it('gives a repository what is committed, claims included, while many ask at once', async () => {
    await registerFiles(database, 200);
    const claims = new FileClaims(database, silentLogger);
    const claimed = await Promise.all(
      Array.from({ length: 20 }, (_, n) => claims.getNextFiles(`worker-${n}`, 10)),
    );
    const ids = claimed.flat().map(({ id }) => id);
    expect(new Set(ids).size).toBe(200);
    const files = database.repository(FileEntity);
    expect(await Promise.all(ids.map((id) => files.countBy({ id })))).toEqual(ids.map(() => 1));
  });

  it('leaves nothing behind on the connections that others get', async () => {
    await Promise.all(
      Array.from({ length: 10 }, () => database.inTransaction((tx) => execute(tx, 'SELECT pg_sleep(0.05)'))),
    );
    const stranger = new pg.Client({ connectionString: pooler.url });
    await stranger.connect();
    const { rows } = await stranger.query(SETTINGS);
    await stranger.end();
    expect(rows).toEqual([{ limit: '0', path: '"$user", public', idle: '0', readonly: 'off' }]);
  });
}
