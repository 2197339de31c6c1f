import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  DATABASE_KINDS,
  eventually,
  loadCluster,
  FakeClock,
  guardLeaks,
  sharedRedis,
  spawnProgram,
  startRedis,
  emptyDatabase,
} from './index.js';

describe('testing', () => {
  guardLeaks();
  const undo: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const step of undo) await step();
  });

  it('shares one Redis a run and gives each caller a prefix of its own', () => {
    expect(sharedRedis().url).toBe(sharedRedis().url);
    expect(sharedRedis().prefix).not.toBe(sharedRedis().prefix);
  });

  it('loads PostgreSQL without listening to a parent, which would keep the process from ending', async () => {
    const before = process.listenerCount('message');
    await loadCluster();
    expect(process.listenerCount('message')).toBe(before);
  });

  it('keeps the data of a persistent Redis through a restart and drops it when asked', async () => {
    const redis = await startRedis({ persistent: true, args: ['--appendfsync', 'always'] });
    try {
      await redis.command('SET', 'k', 'v');
      await redis.restart();
      expect(await redis.command('GET', 'k')).toBe('$1');
      await redis.restart({ empty: true });
      expect(await redis.command('GET', 'k')).toBe('$-1');
    } finally {
      await redis.stop();
    }
  });

  it.each(DATABASE_KINDS)('gives an empty %s database that goes away again', async (kind) => {
    const database = await emptyDatabase(kind);
    undo.push(database.remove);
    expect(database.url).toMatch(kind === 'sqlite' ? /^sqlite:\// : /^postgres:\/\//);
    if (kind === 'postgres') {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      const { rows } = await client.query<{ n: string }>(
        "SELECT count(*) AS n FROM pg_tables WHERE schemaname = 'public'",
      );
      await client.end();
      expect(rows[0]?.n).toBe('0');
    }
  });

  it('reports what a process printed when it ends too early', async () => {
    const child = spawnProgram(process.execPath, ['-e', 'console.log("half way"); process.exit(3)']);
    await expect(child.output('ready')).rejects.toThrow(/ended before it printed ready[^]*half way/);
    expect(await child.exited).toEqual({ code: 3, signal: null });
  });

  it('ends a process with the chosen signal', async () => {
    const child = spawnProgram(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']);
    await child.output('up');
    expect(await child.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('gives the last error when a condition is never met', async () => {
    await expect(eventually(() => expect(1).toBe(2), { timeoutMs: 50 })).rejects.toThrow(/Expected: 2/);
  });

  it('moves wall and monotonic time apart on a jump', () => {
    const clock = new FakeClock(1000);
    clock.advance(5);
    clock.jump(-500);
    expect([clock.now(), clock.monotonic()]).toEqual([505, 5]);
  });
});
