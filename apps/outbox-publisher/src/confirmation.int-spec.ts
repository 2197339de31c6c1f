import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ANY_PAYLOAD, QueueManager } from '#queue-manager';
import { Database, execute, queryRows } from '#database';
import { appendAll, Inbox, UnconfirmedEvents } from '#outbox';
import { Metrics, silentLogger, systemClock } from '#service';
import { DATABASE_KINDS, eventually, startRedis, testDatabase } from '#testing';
import type { RedisServer, TestDatabase } from '#testing';
import { Confirmation } from './confirmation.service.js';
import { configOf, createPublisher } from './publisher.fixture.js';
import { PublisherMetrics } from './publisher.metrics.js';
import type { Publisher } from './publisher.service.js';
import { Purge } from './purge.service.js';

const HOUR = 3_600_000;

describe.each(DATABASE_KINDS)('what Redis lost, on %s', (kind) => {
  let place: TestDatabase;
  let database: Database;
  let redis: RedisServer;
  let queues: QueueManager;
  let metrics: PublisherMetrics;
  let publisher: Publisher;

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    redis = await startRedis();
  });
  beforeEach(async () => {
    await database.inTransaction(async (tx) => {
      for (const table of ['outbox', 'inbox', 'dead_letters']) await execute(tx, `DELETE FROM ${table}`);
    });
    await redis.flush();
    queues = new QueueManager({
      url: redis.url,
      workerId: 'w',
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await queues.start();
    metrics = new PublisherMetrics(new Metrics(), database, systemClock);
    publisher = createPublisher(database, queues, { BATCH_SIZE: 100, CONFIRMED_QUEUES: ['q'] });
  });
  afterEach(async () => {
    await publisher.stop();
    await queues.stop();
  });
  afterAll(async () => {
    await database.stop();
    await redis.stop();
    await place.remove();
  });

  const confirmation = (timeoutMs = HOUR): Confirmation =>
    new Confirmation(
      configOf({ CONFIRM_TIMEOUT_MS: timeoutMs, CONFIRM_INTERVAL_MS: 20 }),
      database,
      queues,
      metrics,
      silentLogger,
      publisher,
    );
  const purge = (): Purge =>
    new Purge(
      configOf({ PURGE_INTERVAL_MS: 20, OUTBOX_RETENTION_MS: HOUR, INBOX_RETENTION_MS: HOUR }),
      database,
      metrics,
      silentLogger,
    );
  const publish = async (...ids: string[]): Promise<void> => {
    await database.inTransaction((tx) =>
      appendAll(
        tx,
        ids.map((id) => ({ id, queue: 'q', payload: { id } })),
      ),
    );
    await publisher.tick();
    expect(await pending()).toEqual([]);
  };
  const pending = async (): Promise<string[]> => {
    const rows = await database.read((manager) =>
      queryRows<{ id: string }>(manager, "SELECT id FROM outbox WHERE status = 'PENDING' ORDER BY id"),
    );
    return rows.map(({ id }) => id);
  };
  const receive = (id: string): Promise<boolean> =>
    database.inTransaction((tx) => new Inbox().record(tx, 'analyzer', id));

  it('is published again under the same id when its queue is empty', async () => {
    const walk = confirmation();
    await publish('received', 'lost');
    await walk.tick();
    await receive('received');
    await redis.flush();
    await walk.tick();
    expect(await pending()).toEqual(['lost']);
    await publisher.tick();
    expect([...(await queues.getQueue('q').existing(['e-received', 'e-lost']))]).toEqual(['e-lost']);
  });

  it('is found at once after a restart of Redis, also when the queue has other jobs', async () => {
    const walk = confirmation();
    await publish('lost');
    await walk.tick();
    await redis.restart({ empty: true });
    await eventually(() => queues.enqueueJobs('q', ANY_PAYLOAD, [{ jobId: 'e-new', payload: {} }]));
    await walk.tick();
    expect(await pending()).toEqual(['lost']);
  });

  it('is found after the timeout when nothing else tells of the loss', async () => {
    const patient = confirmation();
    await publish('lost', 'waiting');
    await patient.tick();
    const { toKey } = queues.getQueue('q');
    await redis.command('DEL', toKey.call(queues.getQueue('q'), 'e-lost'));
    await patient.tick();
    expect(await pending()).toEqual([]);
    const hasty = confirmation(1);
    await eventually(async () => {
      await hasty.tick();
      expect(await pending()).toEqual(['lost']);
    });
  });

  it('is not what still waits in its queue', async () => {
    await publish('a', 'b');
    await confirmation(1).tick();
    expect(await pending()).toEqual([]);
  });

  it('is not what an inbox has, under the id of the event or of the batch it names', async () => {
    await publish('batch-1');
    await database.inTransaction((tx) =>
      appendAll(tx, [{ id: 'redrive-of-2', queue: 'q', payload: { id: 'batch-2' } }]),
    );
    await publisher.tick();
    await receive('batch-1');
    await receive('batch-2');
    await redis.flush();
    await confirmation().tick();
    expect(await pending()).toEqual([]);
    expect(await new UnconfirmedEvents(database).page(undefined, 10)).toEqual([]);
  });

  it('is not what lies in the dead-letter queue', async () => {
    await publish('failed', 'lost');
    await redis.flush();
    await queues.enqueueJobs('dead-letter-queue', ANY_PAYLOAD, [
      { jobId: 'dl-1', payload: { queue: 'q', jobId: 'e-failed' } },
    ]);
    await confirmation().tick();
    expect(await pending()).toEqual(['lost']);
  });

  it('is found in an outbox with more unconfirmed events than a page holds', async () => {
    const ids = Array.from({ length: 1_203 }, (_, n) => `e${String(n).padStart(4, '0')}`);
    await database.inTransaction((tx) =>
      appendAll(
        tx,
        ids.map((id) => ({ id, queue: 'q', payload: {} })),
      ),
    );
    while (await publisher.tick());
    expect(await pending()).toEqual([]);
    await redis.flush();
    const walk = confirmation();
    while (await walk.tick());
    expect(await pending()).toEqual(ids);
  });

  it('does not keep what is settled from being purged', async () => {
    await publish('received', 'unconfirmed');
    await receive('received');
    await confirmation().tick();
    await database.inTransaction((tx) => execute(tx, 'UPDATE outbox SET published_at = 1'));
    expect(await purge().tick()).toBe(false);
    const rows = await database.read((manager) =>
      queryRows<{ id: string }>(manager, 'SELECT id FROM outbox'),
    );
    expect(rows).toEqual([{ id: 'unconfirmed' }]);
  });

  it('is purged in transactions of 500 rows at most of each table, past rows that somebody holds', async () => {
    const EACH = 1_100;
    const numbers =
      kind === 'sqlite'
        ? `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${EACH}) SELECT`
        : `WITH n AS (SELECT generate_series(1, ${EACH}) AS n) SELECT`;
    await database.inTransaction(async (tx) => {
      await execute(
        tx,
        `INSERT INTO outbox (id, queue, event_name, payload, status, created_at, available_at, published_at, confirmed_at)
         ${numbers} 'e' || n, 'q', 'q', '{}', 'PUBLISHED', 1, 1, n, n FROM n`,
      );
      await execute(
        tx,
        `INSERT INTO inbox (consumer, event_id, received_at) ${numbers} 'c', 'gone' || n, n FROM n`,
      );
    });
    const left = async (): Promise<number[]> => {
      const [row] = await database.read((manager) =>
        queryRows<{ events: number; entries: number }>(
          manager,
          'SELECT (SELECT count(*) FROM outbox) AS events, (SELECT count(*) FROM inbox) AS entries',
        ),
      );
      return [row!.events, row!.entries];
    };
    if (kind === 'postgres')
      await database.inTransaction(
        async (tx) => {
          await queryRows(tx, "SELECT id FROM outbox WHERE id = 'e1' FOR UPDATE");
          expect(await purge().tick()).toBe(true);
          expect(await left()).toEqual([600, 600]);
        },
        { ambient: false },
      );
    const seen = [await left()];
    while (await purge().tick()) seen.push(await left());
    seen.push(await left());
    expect(seen.slice(kind === 'postgres' ? 0 : 1)).toEqual([
      [600, 600],
      [100, 100],
      [0, 0],
    ]);
  });
});

describe('a publisher whose Redis is away', () => {
  it('leaves events pending with all their attempts, and publishes them when Redis is back', async () => {
    const place = await testDatabase('sqlite');
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    const redis = await startRedis();
    const queues = new QueueManager({
      url: redis.url,
      workerId: 'w',
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await queues.start();
    const publisher = createPublisher(database, queues, { EVENT_ATTEMPTS: 1 });
    const row = async (): Promise<object | undefined> =>
      (
        await database.read((manager) =>
          queryRows(manager, 'SELECT status, attempts, claimed_by FROM outbox'),
        )
      )[0];
    try {
      await redis.kill();
      await database.inTransaction((tx) => appendAll(tx, [{ queue: 'q', payload: {} }]));
      expect(await publisher.tick()).toBe(false);
      expect(await row()).toEqual({ status: 'PENDING', attempts: 0, claimed_by: null });
      await redis.restart();
      await publisher.start();
      await eventually(async () => expect(await row()).toMatchObject({ status: 'PUBLISHED' }), {
        timeoutMs: 30_000,
      });
    } finally {
      await publisher.stop();
      await queues.stop();
      await database.stop();
      await redis.stop();
      await place.remove();
    }
  }, 60_000);
});
