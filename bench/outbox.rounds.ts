import { Queue } from 'bullmq';
import { dialectOf, execute, queryRows, type Database, type Dialect } from '#database';
import { appendAll } from '#outbox';
import { QueueManager } from '#queue-manager';
import { Metrics, newTrace, silentLogger } from '#service';
import { createPublisher } from '../apps/outbox-publisher/src/publisher.fixture.js';
import type { Publisher } from '../apps/outbox-publisher/src/publisher.service.js';
import type { RedisServer } from '../libs/testing/src/redis-server.js';

const QUEUE = 'bench';
const BATCH = 1_000;
const APPENDED_AT_ONCE = 5_000;

const trace = newTrace();
const payloadOf = (n: number): object => ({
  id: `batch-${n}`,
  totalTokens: n,
  files: [
    { fileId: n, revision: 1, path: `/some/folder/of/a/tree/file-${n}.ts`, tokens: 512, part: 1, parts: 1 },
  ],
});

/** Rounds that publish the same events in three ways; each returns events a second and leaves Redis empty. */
export class OutboxRounds {
  private constructor(
    readonly database: Database,
    private readonly redis: RedisServer,
    private readonly queues: QueueManager,
    private readonly publisher: Publisher,
    private readonly bare: Queue,
  ) {}

  static async start(database: Database, redis: RedisServer): Promise<OutboxRounds> {
    const metrics = new Metrics();
    const queues = new QueueManager({ url: redis.url, workerId: 'bench', logger: silentLogger, metrics });
    await queues.start();
    const publisher = createPublisher(
      database,
      queues,
      {
        BATCH_SIZE: BATCH,
        POLLING_INTERVAL_MS: 1_000,
        EVENT_ATTEMPTS: 10,
        EVENT_BACKOFF_MS: 1_000,
        EVENT_MAX_BACKOFF_MS: 60_000,
        CONFIRMED_QUEUES: [QUEUE],
      },
      { metrics },
    );
    const bare = new Queue(QUEUE, { connection: { url: redis.url }, prefix: '{millrace}' });
    await bare.waitUntilReady();
    return new OutboxRounds(database, redis, queues, publisher, bare);
  }

  get dialect(): Dialect {
    return this.database.dialect;
  }

  /** By the publisher: claim, publish, mark. */
  async publish(events: number): Promise<number> {
    await this.append(events);
    const seconds = await timed(async () => {
      while (await this.publisher.tick());
    });
    await this.clear();
    return events / seconds;
  }

  /** By BullMQ alone: no table is read, nothing is marked. */
  async addBulk(events: number): Promise<number> {
    const payloads = Array.from({ length: events }, (_, n) => ({ ...payloadOf(n), trace }));
    const options = { attempts: 5, backoff: { type: 'jittered' } };
    const seconds = await timed(async () => {
      for (let at = 0; at < events; at += BATCH)
        await this.bare.addBulk(
          payloads
            .slice(at, at + BATCH)
            .map((data, n) => ({ name: QUEUE, data, opts: { ...options, jobId: `e-bare-${at + n}` } })),
        );
    });
    await this.redis.flush();
    return events / seconds;
  }

  /** By the loop of the seed: fetch a batch, then publish and update each event by itself. */
  async oneAtATime(events: number): Promise<number> {
    await this.append(events);
    const seconds = await timed(async () => {
      while (await this.seedCycle());
    });
    await this.clear();
    return events / seconds;
  }

  async stop(): Promise<void> {
    await this.publisher.stop();
    await this.bare.close();
    await this.queues.stop();
    await this.database.stop();
  }

  private async seedCycle(): Promise<boolean> {
    const pending = await this.database.read((manager) =>
      queryRows<{ id: string; payload: string }>(
        manager,
        "SELECT id, payload FROM outbox WHERE status = 'PENDING' ORDER BY created_at LIMIT $1",
        [BATCH],
      ),
    );
    for (const { id, payload } of pending) {
      await this.bare.add(QUEUE, JSON.parse(payload), { jobId: `e-${id}` });
      await this.database.inTransaction((tx) =>
        execute(
          tx,
          "UPDATE outbox SET status = 'PUBLISHED', published_at = 1, confirmed_at = 1 WHERE id = $1",
          [id],
        ),
      );
    }
    return pending.length > 0;
  }

  private async append(events: number): Promise<void> {
    for (let at = 0; at < events; at += APPENDED_AT_ONCE) {
      const count = Math.min(APPENDED_AT_ONCE, events - at);
      const some = Array.from({ length: count }, (_, n) => ({
        queue: QUEUE,
        payload: payloadOf(at + n),
        trace,
      }));
      await this.database.inTransaction((tx) => appendAll(tx, some));
    }
  }

  private async clear(): Promise<void> {
    await this.redis.flush();
    await this.database.inTransaction((tx) => execute(tx, "DELETE FROM outbox WHERE id NOT LIKE 'old-%'"));
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1_000;
}

/** Rows as a busy publisher leaves them behind within the retention. */
export async function fillWithPublished(database: Database, rows: number): Promise<void> {
  await database.inTransaction(async (tx) => {
    const numbers =
      dialectOf(tx) === 'postgres'
        ? `SELECT n FROM generate_series(1, ${rows}) AS s (n)`
        : `WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${rows}) SELECT n FROM s`;
    await execute(
      tx,
      `INSERT INTO outbox (id, queue, event_name, payload, status, created_at, available_at, published_at, confirmed_at)
       SELECT 'old-' || n, 'bench', 'bench', '{"id":"some payload of a usual length, give or take a few letters"}',
         'PUBLISHED', 1000 + n, 0, 2000 + n, 2000 + n FROM (${numbers}) AS numbers`,
    );
  });
}
