import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import sqlite3 from 'sqlite3';
import { queryRows, type Database } from '#database';
import { appendAll } from '#outbox';
import type { QueueManager } from '#queue-manager';
import { DATABASE_KINDS, eventually, type Child } from '#testing';
import { PublisherRig } from '../e2e/publisher-rig.js';

const QUEUES = ['one', 'two'];
const EVENTS = 40;
// Each step boundary, and a commit whose outcome the publisher never learns. The database's second commit is the first
// claim or mark, its first one a migration or a claim.
const KILLS = [
  'publisher.after-claim:1',
  'publisher.mid-batch:1',
  'publisher.after-publish:1',
  'publisher.after-mark:1',
  'database.before-commit:2',
  'database.after-commit:2',
];

describe.each(DATABASE_KINDS)('the outbox publisher hit by faults, on %s', (kind) => {
  let rig: PublisherRig;
  let database: Database;
  let queues: QueueManager;

  beforeEach(async () => {
    rig = await PublisherRig.start(kind);
    ({ database, queues } = rig);
  });
  afterEach(() => rig.stop());

  const publisher = (env: NodeJS.ProcessEnv = {}): Child =>
    rig.publisher({ CLAIM_LEASE_MS: '500', BATCH_SIZE: '10', POLLING_INTERVAL_MS: '50', ...env });
  const add = (): Promise<string[]> =>
    database.inTransaction((tx) =>
      appendAll(
        tx,
        Array.from({ length: EVENTS }, (_, n) => ({ queue: QUEUES[n % 2] ?? '', payload: { n } })),
      ),
    );
  const statuses = async (): Promise<string[]> => {
    const rows = await database.read((manager) =>
      queryRows<{ status: string }>(manager, 'SELECT DISTINCT status FROM outbox'),
    );
    return rows.map(({ status }) => status);
  };
  const expectAllPublishedOnce = async (ids: readonly string[]): Promise<void> => {
    await eventually(async () => expect(await statuses()).toEqual(['PUBLISHED']), { timeoutMs: 60_000 });
    const jobs = await Promise.all(QUEUES.map((queue) => queues.getQueue(queue).getJobs(['wait'], 0, -1)));
    expect(
      jobs
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(ids.map((id) => `e-${id}`).toSorted());
  };

  it('publishes every event once in effect although it is killed at each of its steps, one after the other', async () => {
    const ids: string[] = [];
    for (const point of KILLS) {
      ids.push(...(await add()));
      const victim = publisher({ MILLRACE_FAULT: `${point}:kill` });
      expect({ point, ...(await victim.exited) }).toEqual({ point, code: null, signal: 'SIGKILL' });
    }
    publisher();
    await expectAllPublishedOnce(ids);
  }, 180_000);

  it('logs a critical line when it could not mark what it published, goes on, and publishes it again', async () => {
    const ids = await add();
    const child = publisher({ MILLRACE_FAULT: 'publisher.after-publish:1:throw' });
    await expectAllPublishedOnce(ids);
    const critical = child.logs().filter(({ level }) => level === 'fatal');
    expect(critical).toMatchObject([{ critical: true, msg: expect.stringMatching(/^CRITICAL/) }]);
    expect(child.running).toBe(true);
  }, 90_000);

  it('goes on after a failure that nobody expected at any step, and names the source of it', async () => {
    const ids = await add();
    const child = publisher({ MILLRACE_FAULT: 'publisher.mid-batch:2:throw' });
    await expectAllPublishedOnce(ids);
    const failed = child.logs().filter(({ msg }) => msg === 'round failed; will try again');
    expect(failed).toMatchObject([
      {
        err: {
          stack: expect.stringMatching(/at act \(\/.*\/libs\/service\/src\/fault-point\.ts:\d+:\d+\)\n/),
        },
      },
    ]);
  }, 90_000);

  if (kind === 'sqlite')
    it('waits for a database that another process keeps locked', async () => {
      const child = publisher();
      await child.output('outbox-publisher started', 60_000);
      const ids = await add();
      const lock = new sqlite3.Database(rig.place.url.slice('sqlite:'.length));
      const run = (sql: string): Promise<void> =>
        new Promise((resolve, reject) => lock.run(sql, (error) => (error ? reject(error) : resolve())));
      lock.configure('busyTimeout', 10_000);
      await run('BEGIN IMMEDIATE');
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await run('COMMIT');
      await new Promise<void>((resolve) => lock.close(() => resolve()));
      await expectAllPublishedOnce(ids);
      expect(child.logs().filter(({ level }) => level === 'error')).toEqual([]);
    }, 90_000);

  if (kind === 'postgres')
    it('survives the loss of all its connections again and again', async () => {
      const child = publisher({ BATCH_SIZE: '3' });
      await child.output('outbox-publisher started', 60_000);
      const killer = new pg.Client({ connectionString: rig.place.url });
      await killer.connect();
      const ids: string[] = [];
      for (let round = 0; round < 8; round++) {
        ids.push(...(await add()));
        await killer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
             AND application_name LIKE 'millrace-outbox%' AND pid <> pg_backend_pid()`,
        );
      }
      await killer.end();
      await expectAllPublishedOnce(ids);
      expect(child.running).toBe(true);
    }, 90_000);
});
