import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { execute, queryRows } from '#database';
import { append, appendAll, EventClaims, type NewEvent } from '#outbox';
import { QueueManager } from '#queue-manager';
import { armFault, createLogger, Metrics, silentLogger, type Logger } from '#service';
import {
  CountingDatabase,
  DATABASE_KINDS,
  eventually,
  sharedRedis,
  testDatabase,
  type TestDatabase,
} from '#testing';
import type { PublisherConfig } from './outbox-publisher.config.js';
import { createPublisher } from './publisher.fixture.js';
import type { Publisher } from './publisher.service.js';

describe.each(DATABASE_KINDS)('the publisher on %s', (kind) => {
  let place: TestDatabase;
  let database: CountingDatabase;
  let queues: QueueManager;
  let lines: Record<string, unknown>[];
  let logger: Logger;
  const started: Publisher[] = [];

  beforeAll(async () => {
    place = await testDatabase(kind);
    database = new CountingDatabase({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
  });
  beforeEach(async () => {
    lines = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    logger = createLogger({ service: 'test', workerId: 'w', level: 'debug', stream });
    await database.inTransaction((tx) => execute(tx, 'DELETE FROM outbox'));
    queues = new QueueManager({
      ...sharedRedis(),
      workerId: 'w',
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await queues.start();
  });
  afterEach(async () => {
    armFault(undefined);
    await Promise.all(started.splice(0).map((publisher) => publisher.stop()));
    await queues.stop();
  });
  afterAll(async () => {
    await database.stop();
    await place.remove();
  });

  const create = (
    over: Partial<PublisherConfig> = {},
    { metrics = new Metrics(), claims = new EventClaims(database) } = {},
  ): Publisher => {
    const publisher = createPublisher(database, queues, over, { claims, metrics, logger });
    started.push(publisher);
    return publisher;
  };
  const add = (...events: Partial<NewEvent>[]): Promise<string[]> =>
    database.inTransaction((tx) =>
      appendAll(
        tx,
        events.map((event) => ({ queue: 'q', payload: {}, ...event })),
      ),
    );
  const statuses = async (): Promise<Record<string, string>> => {
    const rows = await database.read((manager) =>
      queryRows<{ id: string; status: string }>(manager, 'SELECT id, status FROM outbox'),
    );
    return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
  };
  const jobs = async (queue = 'q'): Promise<{ id?: string; name: string; data: unknown }[]> =>
    queues.getQueue(queue).getJobs(['wait', 'prioritized', 'delayed'], 0, -1, true);
  const logged = (text: RegExp): Record<string, unknown>[] =>
    lines.filter(({ msg }) => text.test(String(msg)));

  it('asks the database as often for many events as for one', async () => {
    const publisher = create({ BATCH_SIZE: 1_000, CONFIRMED_QUEUES: ['q'] });
    // On SQLite it looks before it takes the lock; PostgreSQL is told which index to walk.
    const round = async (events: number): Promise<number> => {
      await add(...Array.from({ length: events }, () => ({})));
      return (await database.statementsOf(() => publisher.tick())).length;
    };
    const [one, many] = [await round(1), await round(300)];
    expect({ one, many }).toEqual({ one: 6, many: 6 });
    expect(await jobs()).toHaveLength(301);
  });

  it('publishes a valid payload to the queue of its event and marks it', async () => {
    await add({ id: 'a', payload: { n: 1 }, eventName: 'done' }, { id: 'b', queue: 'r', payload: { n: 2 } });
    expect(await create().tick()).toBe(false);
    expect(await jobs('q')).toMatchObject([
      { id: 'e-a', name: 'done', data: { n: 1, trace: expect.any(String) } },
    ]);
    expect(await jobs('r')).toMatchObject([{ id: 'e-b', name: 'r', data: { n: 2 } }]);
    expect(logged(/^events published/)).toMatchObject([
      { level: 'debug', events: 2, event_ids: expect.arrayContaining(['a', 'b']) },
    ]);
    expect(await statuses()).toEqual({ a: 'PUBLISHED', b: 'PUBLISHED' });
  });

  it('looks again at once when there were more than it claims, or more of a key', async () => {
    await add({ id: 'a' }, { id: 'b' }, { id: 'c' });
    const publisher = create({ BATCH_SIZE: 2 });
    expect([await publisher.tick(), await publisher.tick()]).toEqual([true, false]);
    await add({ id: 'd', orderingKey: 'k' }, { id: 'e', orderingKey: 'k' });
    expect([await create().tick(), await create().tick(), await create().tick()]).toEqual([
      true,
      true,
      false,
    ]);
    expect(Object.values(await statuses())).not.toContain('PENDING');
  });

  it('does nothing, and says so, when no events are pending', async () => {
    expect(await create().tick()).toBe(false);
    expect(logged(/no pending events/)).toHaveLength(1);
  });

  it('publishes events of a queue in the order of their creation', async () => {
    const ids = await add(...Array.from({ length: 25 }, () => ({})));
    await create().start();
    await eventually(async () => expect(Object.values(await statuses())).not.toContain('PENDING'));
    expect((await jobs()).map(({ id }) => id)).toEqual(ids.map((id) => `e-${id}`));
  });

  it('lets the others flow when the queue refuses the event at the head, which ends DEAD with its error', async () => {
    const [poison = ''] = await add({ jobOptions: { priority: 1.5 } });
    const rest = await add(...Array.from({ length: 30 }, () => ({})));
    await create().start();
    await eventually(async () => {
      const now = await statuses();
      expect(rest.map((id) => now[id])).toEqual(rest.map(() => 'PUBLISHED'));
      expect(now[poison]).toBe('DEAD');
    });
    expect(await jobs()).toHaveLength(30);
    const [row] = await database.read((manager) =>
      queryRows(manager, "SELECT attempts, last_error FROM outbox WHERE status = 'DEAD'"),
    );
    expect(row).toMatchObject({ attempts: 2, last_error: expect.stringContaining('riority') });
    expect(logged(/the queue refused it/)).toHaveLength(2);
  });

  it('isolates a job that Redis itself refuses', async () => {
    const redis = new Redis(sharedRedis().url);
    await redis.set(queues.getQueue('q').toKey('e-bad'), 'not a hash');
    await redis.quit();
    await add({ id: 'ok-1' }, { id: 'bad' }, { id: 'ok-2' });
    const publisher = create();
    await publisher.tick();
    expect(await statuses()).toEqual({ 'ok-1': 'PUBLISHED', bad: 'PENDING', 'ok-2': 'PUBLISHED' });
  });

  it('gives up at once what was written past append and cannot be read', async () => {
    await add({ id: 'broken' }, { id: 'fine' });
    await database.inTransaction((tx) => execute(tx, "UPDATE outbox SET payload = '{' WHERE id = 'broken'"));
    await create().tick();
    expect(await statuses()).toEqual({ broken: 'DEAD', fine: 'PUBLISHED' });
  });

  it('logs a critical error when the mark fails after the publication, and publishes again under the same id', async () => {
    await add({ id: 'a' });
    const publisher = create({ CLAIM_LEASE_MS: 200 });
    armFault('publisher.after-publish:1:throw');
    await expect(publisher.tick()).rejects.toThrow('fault injected');
    expect(await statuses()).toEqual({ a: 'PENDING' });
    expect(logged(/^CRITICAL/)).toMatchObject([{ level: 'fatal', event_ids: ['a'] }]);
    await eventually(async () => {
      await publisher.tick();
      expect(await statuses()).toEqual({ a: 'PUBLISHED' });
    });
    expect(await jobs()).toHaveLength(1);
  });

  it('warns when another took its claims before the mark, and leaves them to that other', async () => {
    await add({ id: 'a' }, { id: 'b' });
    const claims = new EventClaims(database);
    const mark = claims.markPublishedIfClaimed.bind(claims);
    claims.markPublishedIfClaimed = async (...call) => {
      await database.inTransaction((tx) =>
        execute(tx, "UPDATE outbox SET claimed_by = 'another' WHERE id = 'a'"),
      );
      return mark(...call);
    };
    await create({}, { claims }).tick();
    expect(await statuses()).toEqual({ a: 'PENDING', b: 'PUBLISHED' });
    expect(logged(/^claims lost before the mark/)).toMatchObject([{ level: 'warn', events: 1 }]);
  });

  it('logs an error that nobody expected and goes on', async () => {
    const claims = new EventClaims(database);
    const claim = claims.claim.bind(claims);
    let failures = 2;
    claims.claim = (options) => (failures-- > 0 ? Promise.reject(new Error('unheard of')) : claim(options));
    await add({ id: 'a' });
    await create({}, { claims }).start();
    await eventually(async () => expect(await statuses()).toEqual({ a: 'PUBLISHED' }));
    expect(logged(/round failed/)).toMatchObject([{ level: 'error' }, { level: 'error' }]);
  });

  it('publishes each event once when several publishers work side by side', async () => {
    const ids = await add(...Array.from({ length: 300 }, () => ({})));
    const all = Array.from({ length: 3 }, () => new Metrics());
    await Promise.all(all.map((metrics) => create({ BATCH_SIZE: 7 }, { metrics }).start()));
    await eventually(async () => expect(Object.values(await statuses())).not.toContain('PENDING'));
    await Promise.all(started.map((publisher) => publisher.stop()));
    const counts = await Promise.all(
      all.map(async (metrics) => {
        const metric = metrics.registry.getSingleMetric('millrace_outbox_published_total');
        return (await metric?.get())?.values[0]?.value ?? 0;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(ids.length);
    expect(await jobs()).toHaveLength(ids.length);
  });

  it('publishes events of one key in order, one at a time, beside the rest', async () => {
    await add(...Array.from({ length: 12 }, (_, n) => ({ orderingKey: `k${n % 2}`, payload: { n } })));
    await Promise.all([create({ BATCH_SIZE: 3 }).start(), create({ BATCH_SIZE: 3 }).start()]);
    await eventually(async () => expect(Object.values(await statuses())).not.toContain('PENDING'));
    const order = (await jobs()).map(({ data }) => (data as { n: number }).n);
    expect(order.filter((n) => n % 2 === 0)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(order.filter((n) => n % 2 === 1)).toEqual([1, 3, 5, 7, 9, 11]);
  });

  it('hands back what it claimed ahead when it stops', async () => {
    await add(...Array.from({ length: 40 }, () => ({})));
    const publisher = create();
    await publisher.tick();
    await publisher.stop();
    const claimed = await database.read((manager) =>
      queryRows(manager, 'SELECT id FROM outbox WHERE claimed_by IS NOT NULL'),
    );
    expect(claimed).toEqual([]);
    expect(Object.values(await statuses()).filter((status) => status === 'PUBLISHED')).toHaveLength(10);
  });

  it('reports what waits, how old it is, and how long publishing took', async () => {
    const metrics = new Metrics();
    const publisher = create({}, { metrics });
    await add({ id: 'a' });
    await publisher.tick();
    await database.inTransaction((tx) => append(tx, { queue: 'q', payload: {} }));
    const text = await metrics.text();
    expect(text).toMatch(/^millrace_outbox_pending 1$/m);
    expect(text).toMatch(/^millrace_outbox_published_total\{queue="q"\} 1$/m);
    expect(text).toMatch(/^millrace_outbox_publish_latency_seconds_count 1$/m);
    expect(text).toMatch(/^millrace_outbox_oldest_pending_age_seconds \d/m);
  });
});
