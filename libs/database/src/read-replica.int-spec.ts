import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { outboxCounts } from '#outbox';
import { readCounts, verify } from '#proof';
import { eventually, startPostgres, type PostgresServer } from '#testing';
import { createDatabase, openDatabase, registerFiles } from './database.fixture.js';
import type { Database } from './database.service.js';
import { execute, queryOne } from './query.js';
import type { ReadOptions } from './store.js';

const MAY_LAG: ReadOptions = { mayLag: true };

describe('a read replica', () => {
  let primary: PostgresServer;
  let replica: PostgresServer;
  let database: Database;
  beforeAll(async () => {
    primary = await startPostgres();
    // With the schema, without which the replica would be set aside at first.
    await (await openDatabase(primary.url())).stop();
    replica = await primary.startReplica();
    database = await openDatabase(primary.url(), { readUrl: replica.url() });
  }, 120_000);
  afterAll(async () => {
    await database.stop();
    await replica.stop();
    await primary.stop();
  });

  const serverOf = (options?: ReadOptions): Promise<number> =>
    database.read(
      async (manager) =>
        Number((await queryOne<{ port: string }>(manager, "SELECT current_setting('port') AS port")).port),
      options,
    );
  const files = (options: ReadOptions): Promise<number> =>
    database.read(
      async (manager) => (await queryOne<{ n: number }>(manager, 'SELECT count(*) AS n FROM files')).n,
      options,
    );

  it('serves what may lag, also with a limit of its own, and nothing else', async () => {
    expect(await serverOf(MAY_LAG)).toBe(replica.port);
    expect(await serverOf({ ...MAY_LAG, statementTimeoutMs: 1_000 })).toBe(replica.port);
    expect(await serverOf()).toBe(primary.port);
    expect(await database.snapshot((tx) => serverIn(tx))).toBe(primary.port);
    expect(await database.inTransaction((tx) => serverIn(tx))).toBe(primary.port);
    expect(await database.inTransaction(() => serverOf(MAY_LAG))).toBe(primary.port);
  });

  it('follows the primary', async () => {
    await registerFiles(database, 3);
    await eventually(async () => expect(await files(MAY_LAG)).toBe(3));
  });

  it('serves figures of the outbox, and neither counts that decide nor proofs', async () => {
    const pending = async (): Promise<number> => (await outboxCounts(database)).pending;
    expect(await pending()).toBe(0);
    await onServer(replica, 'SELECT pg_wal_replay_pause()');
    await database.inTransaction((tx) =>
      execute(
        tx,
        `INSERT INTO outbox (id, queue, event_name, payload, created_at, available_at) VALUES ('e', 'q', 'q', '{}', 1, 1)`,
      ),
    );
    expect(await pending()).toBe(0);
    expect((await readCounts(database)).eventsPending).toBe(1);
    expect((await verify(database)).counts.eventsPending).toBe(1);
    await onServer(replica, 'SELECT pg_wal_replay_resume()');
    await eventually(async () => expect(await pending()).toBe(1));
  });

  it('is replaced by the primary while it is away', async () => {
    await replica.pause();
    expect(await serverOf(MAY_LAG)).toBe(primary.port);
    expect(await files(MAY_LAG)).toBe(3);
    expect(await database.health()).toEqual({ status: 'up' });
    await replica.resume();
  });

  it('is not used while its schema is another', async () => {
    const behind = await openDatabase(primary.url(), { readUrl: replica.url('template1') });
    try {
      expect(await behind.read(serverIn, MAY_LAG)).toBe(primary.port);
    } finally {
      await behind.stop();
    }
  });

  it('is for PostgreSQL only', () => {
    expect(() => createDatabase('sqlite:/x.db', { readUrl: replica.url() })).toThrow(
      /only PostgreSQL has read replicas/,
    );
  });
});

async function onServer(server: PostgresServer, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function serverIn(tx: Parameters<typeof queryOne>[0]): Promise<number> {
  return Number((await queryOne<{ port: string }>(tx, "SELECT current_setting('port') AS port")).port);
}
