import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execute, queryRows, type Database } from '#database';
import { appendAll } from '#outbox';
import type { QueueManager } from '#queue-manager';
import { DATABASE_KINDS, eventually, startPgBouncer, type Child } from '#testing';
import { PublisherRig } from './publisher-rig.js';

const HOUR = '3600000';

describe.each(DATABASE_KINDS)('the outbox publisher as a process on %s', (kind) => {
  let rig: PublisherRig;
  let database: Database;
  let queues: QueueManager;

  beforeEach(async () => {
    rig = await PublisherRig.start(kind);
    ({ database, queues } = rig);
  });
  afterEach(() => rig.stop());

  const publisher = async (env: NodeJS.ProcessEnv = {}): Promise<Child> => {
    const child = rig.publisher(env);
    await child.output('outbox-publisher started', 60_000);
    return child;
  };
  const add = (count: number): Promise<string[]> =>
    database.inTransaction((tx) =>
      appendAll(
        tx,
        Array.from({ length: count }, (_, n) => ({ queue: 'events', payload: { n } })),
      ),
    );
  const jobIds = async (): Promise<string[]> => {
    const jobs = await queues.getQueue('events').getJobs(['wait'], 0, -1, true);
    return jobs.map(({ id }) => id ?? '').toSorted();
  };
  const jobsFor = (ids: readonly string[]): string[] => ids.map((id) => `e-${id}`).toSorted();

  it('starts, publishes what was committed, answers its probes, and ends with 0 on SIGTERM', async () => {
    const ids = await add(50);
    const child = await publisher();
    await eventually(async () => expect(await jobIds()).toEqual(jobsFor(ids)));
    const { port } = await child.log({ msg: 'outbox-publisher listening' });
    const ready = await fetch(`http://127.0.0.1:${String(port)}/health/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([200, expect.anything()]);
    // Counted once they are marked, which is after they are in the queue.
    await eventually(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
      expect(metrics).toContain('millrace_outbox_published_total{queue="events"} 50');
    });
    expect(await child.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(child.logs().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  });

  it('is woken by a commit, long before it would look by itself', async () => {
    await publisher({ POLLING_INTERVAL_MS: HOUR });
    await expectWoken();
  });

  if (kind === 'postgres')
    it('is woken through LISTEN_DATABASE_URL when its database is behind a pooler', async () => {
      const pooler = await startPgBouncer({ target: rig.place.url });
      try {
        const addresses = { DATABASE_URL: pooler.url, LISTEN_DATABASE_URL: rig.place.url };
        const child = await publisher({ ...addresses, POLLING_INTERVAL_MS: HOUR });
        await expectWoken();
        expect(child.stdout).not.toContain('do not come through');
        await child.end('SIGTERM');
      } finally {
        await pooler.stop();
      }
    });

  const expectWoken = async (): Promise<void> => {
    const ids: string[] = [];
    // More than the short waits after the start can explain: each event comes when the one before has been published.
    for (let round = 0; round < 8; round++) {
      ids.push(...(await add(1)));
      await eventually(async () => expect(await jobIds()).toEqual(jobsFor(ids)));
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** Math.min(round, 4)));
    }
  };

  it('finds by polling what nobody announced', async () => {
    await publisher({ POLLING_INTERVAL_MS: '100' });
    await database.inTransaction((tx) =>
      execute(
        tx,
        "INSERT INTO outbox (id, queue, event_name, payload, created_at, available_at) VALUES ('quiet', 'events', 'x', '{}', 1, $1)",
        [Date.now() + 1_500],
      ),
    );
    await eventually(async () => expect(await jobIds()).toEqual(['e-quiet']));
  });

  it('shares the work with others of its kind and leaves none claimed when all are stopped', async () => {
    const fleet = await Promise.all([1, 2, 3].map(() => publisher({ BATCH_SIZE: '20' })));
    const ids = (await Promise.all(Array.from({ length: 10 }, () => add(40)))).flat();
    await eventually(async () => expect(await jobIds()).toEqual(jobsFor(ids)));
    expect(await Promise.all(fleet.map((child) => child.end('SIGTERM')))).toEqual(
      fleet.map(() => ({ code: 0, signal: null })),
    );
    const rows = await database.read((manager) =>
      queryRows(manager, 'SELECT DISTINCT status, claimed_by FROM outbox'),
    );
    expect(rows).toEqual([{ status: 'PUBLISHED', claimed_by: null }]);
  });
});
