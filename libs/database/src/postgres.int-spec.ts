import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { eventually, freePort, guardLeaks, startPostgres, testDatabase, type TestDatabase } from '#testing';
import { allRows, createDatabase, openDatabase } from './database.fixture.js';
import { deferred } from './deferred.fixture.js';
import type { Database } from './database.service.js';
import { requireInForce } from './postgres-settings.js';
import { execute, queryOne, queryRows } from './query.js';

const insert = (key: string): string => `INSERT INTO fences (key, fence) VALUES ('${key}', 1)`;

// The guard looks after the inner hooks have closed what they opened.
describe('PostgreSQL', () => {
  guardLeaks();
  describe('as our database', postgres);
});

function postgres(): void {
  let target: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    target = await testDatabase('postgres');
    database = await openDatabase(target.url);
  });
  afterEach(async () => {
    await database.stop();
    await target.remove();
  });

  it('is not started on when its limits are not in force', async () => {
    const limits = { statement_timeout: 1_234, idle_in_transaction_session_timeout: 60_000 };
    await expect(database.read((manager) => requireInForce(manager, limits))).rejects.toMatchObject({
      code: 'SETTINGS_NOT_IN_FORCE',
      message: expect.stringContaining('statement_timeout is 30000 instead of 1234'),
    });
  });

  it.each(['while it runs a statement', 'between two statements'])(
    'runs a transaction again whose connection is ended %s',
    async (when) => {
      const pids: number[] = [];
      await database.inTransaction(async (tx) => {
        const { pid } = await queryOne<{ pid: number }>(tx, 'SELECT pg_backend_pid() AS pid');
        pids.push(pid);
        await tx.query(insert(`try ${pids.length}`));
        if (pids.length > 1) return;
        if (when === 'between two statements') await killed(pid);
        // A statement finds it out; a COMMIT could not tell whether it was carried out.
        await tx.query(
          when === 'between two statements' ? 'SELECT 1' : `SELECT pg_terminate_backend(${pid}), pg_sleep(5)`,
        );
      });
      expect(pids).toHaveLength(2);
      expect(await allRows(database, 'SELECT key FROM fences')).toEqual([{ key: 'try 2' }]);
    },
  );

  async function killed(pid: number): Promise<void> {
    const other = await openDatabase(target.url, { poolSize: 1 });
    await other.read((manager) => manager.query('SELECT pg_terminate_backend($1)', [pid]));
    await eventually(async () => {
      const left = await allRows(other, 'SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid]);
      expect(left).toEqual([]);
    });
    await other.stop();
  }

  it('survives the end of idle connections', async () => {
    const { pid } = await database.read((m) =>
      queryOne<{ pid: number }>(m, 'SELECT pg_backend_pid() AS pid'),
    );
    await killed(pid);
    await database.inTransaction((tx) => tx.query(insert('a')));
    expect(await database.health()).toEqual({ status: 'up' });
  });

  it('runs the loser of a serialization failure again', async () => {
    let tries = 0;
    const bothRead = meeting(2);
    const writeSkew = (mine: string): Promise<unknown> =>
      database.inTransaction(async (tx) => {
        tries++;
        await tx.query('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE');
        await tx.query('SELECT count(*) FROM fences');
        await bothRead();
        await tx.query(insert(mine));
      });
    await Promise.all([writeSkew('a'), writeSkew('b')]);
    expect(tries).toBeGreaterThan(2);
    expect(await allRows(database, 'SELECT key FROM fences ORDER BY key')).toEqual([
      { key: 'a' },
      { key: 'b' },
    ]);
  });

  it('runs the victim of a deadlock again', async () => {
    await database.inTransaction((tx) => tx.query(`${insert('a')}, ('b', 1)`));
    const bothHold = meeting(2);
    const bump = (first: string, second: string): Promise<unknown> =>
      database.inTransaction(async (tx) => {
        await tx.query('UPDATE fences SET fence = fence + 1 WHERE key = $1', [first]);
        await bothHold();
        await tx.query('UPDATE fences SET fence = fence + 1 WHERE key = $1', [second]);
      });
    await Promise.all([bump('a', 'b'), bump('b', 'a')]);
    expect(await allRows(database, 'SELECT fence FROM fences')).toEqual([{ fence: 3 }, { fence: 3 }]);
  });

  it('gives up after 5 conflicts with a code that says so', async () => {
    let tries = 0;
    const conflicting = database.inTransaction(async (tx) => {
      tries++;
      await tx.query("DO $do$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '40001'; END $do$");
    });
    await expect(conflicting).rejects.toMatchObject({ code: 'TRANSACTION_CONFLICT', tries: 5 });
    expect(tries).toBe(5);
  });

  it('turns a full disk into its own error', async () => {
    const full = database.inTransaction((tx) =>
      tx.query("DO $do$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '53100'; END $do$"),
    );
    await expect(full).rejects.toMatchObject({ code: 'DISK_FULL' });
  });

  it('reads 64-bit integers and sums as numbers', async () => {
    await database.inTransaction((tx) =>
      execute(tx, 'INSERT INTO fences VALUES ($1, $2)', ['k', 1_763_250_000_123]),
    );
    expect(
      await allRows(database, 'SELECT fence, count(*) AS n, sum(fence) AS total FROM fences GROUP BY fence'),
    ).toEqual([{ fence: 1_763_250_000_123, n: 1, total: 1_763_250_000_123 }]);
  });

  it('does not know whether a commit happened whose answer was cut off, says so, and does not run it again', async () => {
    const proxy = await CuttingProxy.start(target.url);
    const cut = await openDatabase(proxy.url, { poolSize: 2 });
    let tries = 0;
    proxy.cutAfter('COMMIT');
    const unknown = cut.inTransaction(async (tx) => {
      tries++;
      await tx.query(insert('a'));
    });
    await expect(unknown).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
    expect(tries).toBe(1);
    // This one did happen, which a second try would have had to find out by the unique key.
    await eventually(async () =>
      expect(await allRows(database, 'SELECT key FROM fences')).toEqual([{ key: 'a' }]),
    );
    await cut.stop();
    await proxy.stop();
  });

  it('notices a connection that no longer answers, and runs the transaction again on another', async () => {
    const proxy = await CuttingProxy.start(target.url);
    const slow = await openDatabase(proxy.url, {
      poolSize: 2,
      statementTimeoutMs: 1_000,
      transactionTimeoutMs: 60_000,
    });
    let tries = 0;
    await slow.inTransaction(async (tx) => {
      if (++tries === 1) proxy.silence();
      await tx.query(insert(`try ${tries}`));
    });
    expect(tries).toBe(2);
    await slow.stop();
    await proxy.stop();
  });

  it('cannot start while the server is away, says what to check, and starts when it is back', async () => {
    const server = await startPostgres();
    await server.pause();
    const waiting = createDatabase(server.url(), { connectTimeoutMs: 2_000 });
    await expect(waiting.start()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringMatching(/check DATABASE_URL/),
    });
    expect(await waiting.health()).toMatchObject({ status: 'down' });
    await server.resume();
    await waiting.start();
    expect(await waiting.health()).toEqual({ status: 'up' });
    await server.pause();
    expect(await waiting.health()).toMatchObject({ status: 'down' });
    await expect(waiting.inTransaction((tx) => tx.query('SELECT 1'))).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    });
    await server.resume();
    await eventually(async () => expect(await waiting.health()).toEqual({ status: 'up' }));
    await waiting.inTransaction((tx) => queryRows(tx, 'SELECT 1 AS one'));
    await waiting.stop();
    await server.stop();
  }, 120_000);

  it('never shows the password in its errors', async () => {
    const port = await freePort();
    const away = createDatabase(`postgres://user:hunter2@127.0.0.1:${port}/db`);
    const error = await away.start().catch((reason: unknown) => reason);
    expect(String(error)).toContain(`127.0.0.1:${port}/db`);
    expect(String(error)).not.toContain('hunter2');
  });
}

/** Lets the first `count` callers through together; later ones pass. */
function meeting(count: number): () => Promise<void> {
  const all = deferred();
  let arrived = 0;
  return () => {
    if (++arrived === count) all.resolve();
    return all.promise;
  };
}

/** Forwards to PostgreSQL; can cut the line after a word from the client, or make the present lines black holes. */
class CuttingProxy {
  private word: string | undefined;
  private readonly silent = new WeakSet<Socket>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(target: string): Promise<CuttingProxy> {
    const url = new URL(target);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { hostname, port } = url;
    url.port = String((server.address() as AddressInfo).port);
    const proxy = new CuttingProxy(server, url.href);
    server.on('connection', (client) => proxy.forward(client, connect(Number(port), hostname)));
    return proxy;
  }

  cutAfter(word: string): void {
    this.word = word;
  }

  silence(): void {
    for (const socket of this.sockets) this.silent.add(socket);
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(client: Socket, upstream: Socket): void {
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('close', () => upstream.end());
    upstream.on('close', () => client.destroy());
    upstream.on('data', (data) => this.silent.has(client) || client.write(data));
    client.on('data', (data) => {
      if (this.silent.has(client)) return;
      upstream.write(data);
      if (this.word && data.includes(this.word)) client.destroy();
    });
  }
}
