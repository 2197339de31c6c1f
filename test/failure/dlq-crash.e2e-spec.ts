import { afterEach, describe, expect, it } from '@jest/globals';
import { AuditLog, Database, queryRows } from '#database';
import { DlqClient } from '#dlq-client';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import {
  pipelineRedis,
  eventually,
  spawnApp,
  startRedis,
  testDatabase,
  type Child,
  type DatabaseKind,
  type RedisServer,
  type TestDatabase,
} from '#testing';
import { deadLetter, sendLetters } from '../e2e/dlq-app.js';

const ADMIN_KEY = 'a key for this test, 0123456789'.replaceAll(' ', '-');

const FULL = process.env.MILLRACE_TORTURE === 'full';
// At least once at each point.
const KILLS = FULL ? 30 : 5;
const LETTERS = FULL ? 10_000 : 1_000;

// Each kill is at another step, and another time that step is reached.
const INTAKE_POINTS = [
  'dlq-admin.intake-after-insert',
  'database.before-commit',
  'database.after-commit',
  'dlq-admin.intake-after-commit',
  'queue-manager.after-process',
];
const BULK_POINTS = [
  'dlq-admin.requeue-after-mark',
  'dlq-admin.bulk-before-commit',
  'database.after-commit',
  'dlq-admin.bulk-after-commit',
  'dlq-admin.mutation-before-commit',
];

interface World {
  redis: RedisServer;
  target: TestDatabase;
  database: Database;
  queues: QueueManager;
  start: (fault?: string) => Child;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
}, 60_000);

async function world(kind: DatabaseKind): Promise<World> {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const target = await testDatabase(kind);
  cleanups.push(() => target.remove());
  const parts = { logger: silentLogger, metrics: new Metrics() };
  const database = new Database({ url: target.url, ...parts });
  await database.start();
  cleanups.push(() => database.stop());
  const queues = new QueueManager({
    ...(await pipelineRedis({ url: redis.url }, target.url)),
    workerId: 'test',
    ...parts,
  });
  await queues.start();
  cleanups.push(() => queues.stop());
  const start = (fault?: string): Child => {
    const child = spawnApp('dlq-admin', {
      REDIS_URL: redis.url,
      DATABASE_URL: target.url,
      LOG_FORMAT: 'json',
      SAMPLE_INTERVAL_MS: '3600000',
      ADMIN_KEY,
      MILLRACE_TEST_HASTE: FULL ? '1' : '4',
      ...(fault && { MILLRACE_FAULT: fault }),
    });
    cleanups.push(() => child.end('SIGKILL'));
    return child;
  };
  return { redis, target, database, queues, start };
}

const clientOf = async (child: Child): Promise<DlqClient> => {
  const { port } = await child.log({ msg: 'dlq-admin listening' }, 60_000);
  await child.log({ msg: 'dlq-admin started' }, 60_000);
  return new DlqClient({ url: `http://127.0.0.1:${String(port)}`, key: ADMIN_KEY });
};

const rows = <T extends object>(database: Database, sql: string, params: unknown[] = []): Promise<T[]> =>
  database.read((manager) => queryRows<T>(manager, sql, params));

const numbers = async (database: Database, sql: string): Promise<number> =>
  (await rows<{ n: number }>(database, sql))[0]?.n ?? -1;

/** Groups and tallies say what the letters say. */
async function expectCountsToAgree(database: Database): Promise<void> {
  const counted = await rows(
    database,
    "SELECT fingerprint, count(*) AS total, count(CASE WHEN status = 'open' THEN 1 END) AS open FROM dead_letters GROUP BY fingerprint ORDER BY 1",
  );
  expect(
    await rows(
      database,
      'SELECT fingerprint, total, open FROM dead_letter_groups WHERE total > 0 ORDER BY 1',
    ),
  ).toEqual(counted);
  expect(
    await rows(
      database,
      'SELECT fingerprint, CAST(sum(total) AS bigint) AS total, CAST(sum(open) AS bigint) AS open FROM dead_letter_tallies GROUP BY fingerprint HAVING sum(total) > 0 ORDER BY 1',
    ),
  ).toEqual(counted);
}

describe('dlq-admin killed again and again', () => {
  it(`takes in ${LETTERS} letters exactly once each through ${KILLS} deaths`, async () => {
    const { database, queues, start } = await world('postgres');
    const letters = Array.from({ length: LETTERS }, (_, index) =>
      deadLetter({ queue: `q-${index % 3}`, errorName: `Error${index % 3}` }),
    );
    await sendLetters(queues, letters);
    for (let kill = 0; kill < KILLS; kill++) {
      const child = start(`${INTAKE_POINTS[kill % INTAKE_POINTS.length]}:${1 + (kill % 4)}:kill`);
      // It dies at its point, or, when it does not get there, in the middle of its work.
      await Promise.race([child.exited, child.output('dead letters taken in', 15_000).catch(() => {})]);
      expect((await child.end('SIGKILL')).signal).toBe('SIGKILL');
    }
    const survivor = start();
    await eventually(
      async () => {
        expect(await numbers(database, 'SELECT count(*) AS n FROM dead_letters')).toBe(LETTERS);
        const { waiting, active } = await queues.getQueue('dead-letter-queue').counts();
        expect(waiting + active).toBe(0);
      },
      { timeoutMs: 150_000, everyMs: 250 },
    );
    expect(
      await numbers(
        database,
        'SELECT count(*) AS n FROM (SELECT DISTINCT queue, job_id FROM dead_letters) AS d',
      ),
    ).toBe(LETTERS);
    expect(
      await numbers(database, "SELECT count(*) AS n FROM dead_letter_history WHERE event = 'dead-lettered'"),
    ).toBe(LETTERS);
    await expectCountsToAgree(database);
    expect((await survivor.end()).code).toBe(0);
  }, 400_000);

  it(`requeues ${LETTERS} letters exactly once each through ${KILLS} deaths, with one audit row for the request`, async () => {
    const { database, queues, start } = await world('sqlite');
    await sendLetters(
      queues,
      Array.from({ length: LETTERS }, () => deadLetter({ queue: 'q-bulk' })),
    );
    const first = start();
    const client = await clientOf(first);
    await eventually(async () => expect((await client.count({ queue: 'q-bulk' })).count).toBe(LETTERS), {
      timeoutMs: 120_000,
      everyMs: 250,
    });
    const filter = { queue: 'q-bulk', status: 'open' as const };
    const { confirm, total } = await client.preview({ kind: 'requeue', filter });
    expect(total).toBe(LETTERS);
    const { id } = await client.startBulk({
      kind: 'requeue',
      filter,
      confirm,
      ratePerSecond: Math.ceil(LETTERS / 10),
    });
    await eventually(async () => expect((await client.bulkAction(id)).done).toBeGreaterThan(0));
    await first.end('SIGKILL');
    const finished = async (): Promise<boolean> =>
      (await rows<{ status: string }>(database, 'SELECT status FROM bulk_actions WHERE id = $1', [id]))[0]
        ?.status === 'completed';
    let deaths = 1;
    while (deaths < KILLS && !(await finished())) {
      const child = start(`${BULK_POINTS[deaths % BULK_POINTS.length]}:${1 + (deaths % 3)}:kill`);
      const outcome = await Promise.race([
        child.exited,
        eventually(finished, { timeoutMs: 40_000, everyMs: 250 }).catch(() => 'slow'),
      ]);
      if (typeof outcome === 'object') deaths++;
      else await child.end('SIGKILL');
    }
    const survivor = start();
    await eventually(async () => expect(await finished()).toBe(true), { timeoutMs: 120_000, everyMs: 250 });
    expect(
      await numbers(
        database,
        "SELECT count(*) AS n FROM dead_letters WHERE status = 'requeued' AND replay_count = 1",
      ),
    ).toBe(LETTERS);
    expect(await numbers(database, "SELECT count(*) AS n FROM outbox WHERE queue = 'q-bulk'")).toBe(LETTERS);
    expect(
      await numbers(database, "SELECT count(*) AS n FROM dead_letter_history WHERE event = 'requeued'"),
    ).toBe(LETTERS);
    expect(await rows(database, 'SELECT total, done, skipped FROM bulk_actions')).toEqual([
      { total: LETTERS, done: LETTERS, skipped: 0 },
    ]);
    expect(
      await rows(database, "SELECT action FROM audit_log WHERE action LIKE 'bulk.%' ORDER BY id"),
    ).toEqual([{ action: 'bulk.requeue' }, { action: 'bulk.completed' }]);
    expect(await new AuditLog(database).verifyChain()).toMatchObject({ state: 'intact' });
    await expectCountsToAgree(database);
    await survivor.end();
  }, 400_000);

  it('between a change and its commit leaves neither the change nor its audit row; both appear together when repeated', async () => {
    const { database, queues, start } = await world('sqlite');
    await sendLetters(queues, [deadLetter({ queue: 'q-one' })]);
    const doomed = start('dlq-admin.mutation-before-commit:1:kill');
    const client = await clientOf(doomed);
    const id = await eventually(async () => {
      const [letter] = (await client.letters({ queue: 'q-one' })).items;
      expect(letter).toMatchObject({ status: 'open' });
      return letter?.id ?? 0;
    });
    await expect(client.change(id, 'requeue')).rejects.toMatchObject({ code: 'DLQ_ADMIN_UNREACHABLE' });
    await doomed.exited;
    expect(await rows(database, 'SELECT status, replay_count AS n FROM dead_letters')).toEqual([
      { status: 'open', n: 0 },
    ]);
    expect(await rows(database, "SELECT id FROM audit_log WHERE action = 'letter.requeue'")).toEqual([]);
    expect(await rows(database, 'SELECT id FROM outbox')).toEqual([]);
    const child = start();
    await (await clientOf(child)).change(id, 'requeue');
    expect(await rows(database, "SELECT result FROM audit_log WHERE action = 'letter.requeue'")).toEqual([
      { result: 'ok' },
    ]);
    expect(await rows(database, 'SELECT id FROM outbox')).toEqual([{ id: `r-${id}-1` }]);
    expect((await child.end()).code).toBe(0);
  }, 120_000);
});
