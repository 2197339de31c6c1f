import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AuditLog, execute, queryRows } from '#database';
import { ANY_PAYLOAD, type QueueWorker } from '#queue-manager';
import { eventually } from '#testing';
import { startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

const JOBS = 2_000;
const QUEUE = 'shop-queue';

class StockError extends Error {
  override name = 'StockError';
}

interface Order {
  n: number;
  sku: string | null;
}

/** Three bugs in one processor; each fails its share of the orders, each with its own ids in the message. */
function process({ n, sku }: Order, fixed: boolean): void {
  if (fixed) return;
  if (n % 3 === 0) throw new StockError(`no stock for order-${n} in /warehouse/${n % 9}/shelf-${n}`);
  if (n % 3 === 1) throw new RangeError(`price ${n * 7} of "article ${n}" is out of range`);
  if (sku === null) throw new TypeError(`order ${n} has no sku`);
}

describe('a poisoned run', () => {
  let admin: TestDlqAdmin;
  let worker: QueueWorker<unknown>;
  let fixed = false;
  const succeeded = new Map<number, number>();

  beforeAll(async () => {
    admin = await startDlqAdmin('postgres');
    worker = admin.queues.createWorker(
      QUEUE,
      ANY_PAYLOAD,
      async (payload) => {
        process(payload as Order, fixed);
        const { n } = payload as Order;
        succeeded.set(n, (succeeded.get(n) ?? 0) + 1);
      },
      { concurrency: 50 },
    );
    await worker.start();
  }, 60_000);
  afterAll(async () => {
    await worker.stop();
    await admin.stop();
  });

  /** Stands in for the outbox-publisher, which another test covers: pending events become jobs under their ids. */
  const publish = async (): Promise<number> => {
    const events = await admin.database.read((manager) =>
      queryRows<{ id: string; payload: string }>(
        manager,
        "SELECT id, payload FROM outbox WHERE status = 'PENDING' AND queue = $1 LIMIT 500",
        [QUEUE],
      ),
    );
    await admin.queues.enqueueJobs(
      QUEUE,
      ANY_PAYLOAD,
      events.map(({ id, payload }) => ({
        jobId: `e-${id}`,
        payload: JSON.parse(payload) as unknown,
        attempts: 1,
      })),
    );
    await admin.database.inTransaction((tx) =>
      execute(tx, "UPDATE outbox SET status = 'PUBLISHED' WHERE id = ANY($1)", [events.map(({ id }) => id)]),
    );
    return events.length;
  };

  it('of 2,000 jobs with three bugs becomes three groups; fixed, each group is redriven by canary, and every job succeeds once', async () => {
    await admin.queues.enqueueJobs(
      QUEUE,
      ANY_PAYLOAD,
      Array.from({ length: JOBS }, (_, n) => ({
        jobId: `order-${n}`,
        payload: { n, sku: null },
        attempts: 1,
      })),
    );
    await eventually(async () => expect((await admin.client.stats()).open).toBe(JOBS), {
      timeoutMs: 120_000,
      everyMs: 250,
    });

    const groups = (await admin.client.groups()).items;
    expect(groups.map(({ errorName }) => errorName).sort()).toEqual([
      'RangeError',
      'StockError',
      'TypeError',
    ]);
    expect(groups.reduce((sum, { open }) => sum + open, 0)).toBe(JOBS);

    fixed = true;
    let running = true;
    const publishing = (async (): Promise<void> => {
      while (running) if ((await publish()) === 0) await new Promise((resolve) => setTimeout(resolve, 25));
    })();
    for (const group of groups) {
      const filter = { group: group.id, status: 'open' as const };
      const { confirm, eligible } = await admin.client.preview({ kind: 'requeue', filter });
      expect(eligible).toBe(group.open);
      const { id } = await admin.client.startBulk({
        kind: 'requeue',
        filter,
        confirm,
        canary: { steps: [1, 5, 50, 1_000] },
        note: `fixed ${group.errorName}`,
      });
      await eventually(
        async () =>
          expect(await admin.client.bulkAction(id)).toMatchObject({
            status: 'completed',
            done: group.open,
            failedAgain: 0,
          }),
        { timeoutMs: 120_000, everyMs: 250 },
      );
    }
    running = false;
    await publishing;

    await eventually(() => expect(succeeded.size).toBe(JOBS), { timeoutMs: 60_000 });
    expect([...succeeded.values()].every((times) => times === 1)).toBe(true);
    const stats = { open: 0, requeued: 0, resolved: JOBS, discarded: 0 };
    await eventually(async () => expect(await admin.client.stats()).toMatchObject(stats), {
      timeoutMs: 60_000,
    });
    const story = (await admin.client.audit({ limit: 200 })).items
      .map(({ action, reason }) => [action, reason])
      .reverse();
    expect(story).toEqual(
      groups.flatMap(({ errorName }) => [
        ['bulk.requeue', `fixed ${errorName}`],
        ['bulk.completed', null],
      ]),
    );
    expect(await new AuditLog(admin.database).verifyChain()).toMatchObject({ state: 'intact' });
    const states = await admin.database.read((manager) =>
      queryRows(
        manager,
        'SELECT status, replay_count AS replays, count(*) AS n FROM dead_letters GROUP BY 1, 2',
      ),
    );
    expect(states).toEqual([{ status: 'requeued', replays: 1, n: JOBS }]);
  }, 400_000);
});
