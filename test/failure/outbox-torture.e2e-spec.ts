import { describe, expect, it } from '@jest/globals';
import { Database, execute, queryRows } from '#database';
import { append, Inbox, outboxCounts } from '#outbox';
import { ANY_PAYLOAD, QueueManager } from '#queue-manager';
import { Metrics, silentLogger, sleep } from '#service';
import {
  pipelineRedis,
  DATABASE_KINDS,
  eventually,
  Random,
  spawnApp,
  startRedis,
  testDatabase,
  testSeed,
} from '#testing';
import type { Child, DatabaseKind, RedisServer } from '#testing';

const FULL = process.env.MILLRACE_TORTURE === 'full';
// A start of a process costs a second of a core.
const KILLS = FULL ? 50 : 3;
/** So often Redis is lost at least: once in each way. */
const BLOWS = 3;
// Enough to have some in flight at every kill, and few enough to drain on a slow machine.
const COMMITTED_AT_SPEED = 1_000;
const PUBLISHERS = 3;
const QUEUE = 'torture';
const SEED = testSeed();

/** Commits and rolls back transactions with events, and knows which ids were committed. */
class Writer {
  readonly committed = new Set<string>();
  readonly rolledBack = new Set<string>();
  private count = 0;

  constructor(
    private readonly database: Database,
    private readonly random: Random,
  ) {}

  async write(): Promise<void> {
    const ids = Array.from({ length: 1 + Math.floor(this.random.next() * 5) }, () => `t${this.count++}`);
    const commits = this.random.next() < 0.7;
    try {
      await this.database.inTransaction(async (tx) => {
        for (const id of ids) await append(tx, { id, queue: QUEUE, payload: { id } });
        if (!commits) throw new RollBack();
      });
      for (const id of ids) this.committed.add(id);
    } catch (error) {
      if (!(error instanceof RollBack)) throw error;
      for (const id of ids) this.rolledBack.add(id);
    }
  }

  async writeUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write();
      await sleep(this.random.next() * (this.committed.size < COMMITTED_AT_SPEED ? 20 : 500), signal);
    }
  }
}

class RollBack extends Error {}

/** Starts a publisher again whenever it was killed, `kills` times at random moments, and then leaves one running. */
async function killAgainAndAgain(start: () => Child, kills: number, random: Random): Promise<Child> {
  for (let round = 0; round < kills; round++) {
    const child = start();
    await child.output('outbox-publisher started', 60_000);
    await sleep(random.next() * 250);
    expect(await child.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  }
  return start();
}

/** Loses Redis in turn by a restart without its data, by a flush, and by a pause, at least BLOWS times. */
async function hurtRedis(redis: RedisServer, random: Random, signal: AbortSignal): Promise<void> {
  const blows = [
    () => redis.restart({ empty: true }),
    () => redis.flush(),
    async () => {
      redis.pause();
      await sleep(300);
      redis.resume();
    },
  ];
  for (let count = 0; count < BLOWS || !signal.aborted; count++) {
    await sleep(500 + random.next() * 1_500);
    await blows[count % blows.length]?.();
  }
}

async function torture(kind: DatabaseKind): Promise<void> {
  const random = new Random(SEED);
  const place = await testDatabase(kind);
  const redis = await startRedis();
  const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  await database.inTransaction((tx) => execute(tx, 'CREATE TABLE effects (event_id TEXT)'));
  const queues = new QueueManager({
    ...(await pipelineRedis({ url: redis.url }, place.url)),
    workerId: 'c',
    logger: silentLogger,
    metrics: new Metrics(),
  });
  await queues.start();
  const delivered: string[] = [];
  const inbox = new Inbox();
  const consume = async (payload: unknown): Promise<void> => {
    const { id } = payload as { id: string };
    delivered.push(id);
    await database.inTransaction(async (tx) => {
      if (await inbox.record(tx, 'torture', id))
        await execute(tx, 'INSERT INTO effects (event_id) VALUES ($1)', [id]);
    });
  };
  await queues.createWorker(QUEUE, ANY_PAYLOAD, consume, { concurrency: 20 }).start();
  const children: Child[] = [];
  const start = (): Child => {
    const child = spawnApp('outbox-publisher', {
      DATABASE_URL: place.url,
      REDIS_URL: redis.url,
      LOG_FORMAT: 'json',
      CLAIM_LEASE_MS: '1000',
      BATCH_SIZE: '25',
      POLLING_INTERVAL_MS: '50',
      CONFIRMED_QUEUES: QUEUE,
      CONFIRM_INTERVAL_MS: '200',
      CONFIRM_TIMEOUT_MS: '2000',
    });
    children.push(child);
    return child;
  };
  const calm = new AbortController();
  const over = new AbortController();
  const writer = new Writer(database, random);
  try {
    const writing = writer.writeUntil(over.signal);
    const killing = Promise.all(
      Array.from({ length: PUBLISHERS }, () => killAgainAndAgain(start, KILLS, random)),
    );
    const hurting = hurtRedis(redis, random, calm.signal);
    await killing;
    calm.abort();
    await hurting;
    over.abort();
    await writing;
    const effects = async (): Promise<string[]> => {
      const rows = await database.read((manager) =>
        queryRows<{ event_id: string }>(manager, 'SELECT event_id FROM effects'),
      );
      return rows.map(({ event_id }) => event_id).toSorted();
    };
    await eventually(
      async () => {
        expect(await outboxCounts(database)).toMatchObject({
          pending: 0,
          dead: 0,
          unconfirmed: 0,
        });
        expect((await effects()).length).toBeGreaterThanOrEqual(writer.committed.size);
      },
      { timeoutMs: 120_000, everyMs: 200 },
    );
    expect({ seed: SEED, effects: await effects() }).toEqual({
      seed: SEED,
      effects: [...writer.committed].toSorted(),
    });
    expect(delivered.filter((id) => writer.rolledBack.has(id))).toEqual([]);
    expect([writer.committed.size > 100, writer.rolledBack.size > 20]).toEqual([true, true]);
  } finally {
    calm.abort();
    over.abort();
    await Promise.all(children.map((child) => child.end('SIGKILL')));
    await queues.stop();
    await database.stop();
    await redis.stop();
    await place.remove();
  }
}

describe(`three publishers killed again and again while Redis is lost again and again (seed ${SEED})`, () => {
  it.each(DATABASE_KINDS)(
    'have exactly the effects of the committed events, once, on %s',
    (kind) => torture(kind),
    FULL ? 3_600_000 : 600_000,
  );
});
