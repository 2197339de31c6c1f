import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { createLogger, Metrics, sleep } from '#service';
import { eventually, guardLeaks, spawnBuilt, startRedis, type Child, type RedisServer } from '#testing';
import { createManager, NOTE, notes } from '../testing/managers.js';
import type { QueueManager } from './queue-manager.js';

const FULL = process.env.MILLRACE_TORTURE === 'full';
// Longer than the lock and every wait of a caller; in full, longer than the silence of a socket too.
const FROZEN_MS = FULL ? 20_000 : 4_000;
const STORM_MS = FULL ? 10_000 : 4_000;
const CALL_MS = FULL ? 5_000 : 1_000;

describe('a Redis outage', () => {
  guardLeaks();

  describe('with a Redis of its own', () => {
    let redis: RedisServer;
    let manager: QueueManager;
    let metrics: Metrics;
    let log: Record<string, unknown>[];
    let child: Child;

    beforeEach(async () => {
      redis = await startRedis({ persistent: true });
      metrics = new Metrics();
      log = [];
      const stream = { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) };
      const logger = createLogger({ service: 'test', workerId: 'w', level: 'info', stream });
      // The thousand jobs in its own hands must not stall; only the worker in a process of its own is in haste.
      manager = createManager({
        haste: 1,
        url: redis.url,
        prefix: 'p',
        metrics,
        logger,
        commandTimeoutMs: CALL_MS,
      });
      await manager.start();
    });
    afterEach(async () => {
      await manager.closeConnections();
      await redis.stop();
    });

    const spawnWorker = async (): Promise<void> => {
      const options = { url: redis.url, prefix: 'p', workerId: 'child', mode: 'complete', concurrency: 20 };
      child = spawnBuilt('libs/queue-manager/testing/worker.process', [JSON.stringify(options)]);
      await child.output('"ready"');
    };
    const ended = (): Set<unknown> =>
      new Set(child.logs().flatMap(({ event, jobId }) => (event === 'end' ? [jobId] : [])));
    /** Enqueues as a producer does: again, with the same ids, until all are confirmed. */
    const enqueueInSpiteOfAll = (name: string, count: number): Promise<unknown> =>
      eventually(() => manager.enqueueJobs('q', NOTE, notes(count, name)), { timeoutMs: 60_000 });
    const works = async (name: string): Promise<void> => {
      await enqueueInSpiteOfAll(name, 50);
      await eventually(() => expect(notes(50, name).filter(({ jobId }) => !ended().has(jobId))).toEqual([]), {
        timeoutMs: 60_000,
      });
    };
    const survived = async (): Promise<void> => {
      expect(child.running).toBe(true);
      expect(child.stdout).not.toContain('unhandled');
      expect(await child.end('SIGTERM')).toEqual({ code: 0, signal: null });
    };

    it('gives callers fast errors, pauses the workers, and ends without a hand: 1,000 jobs in flight', async () => {
      const seen = new Set<string>();
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => (open = resolve));
      const worker = manager.createWorker(
        'q',
        NOTE,
        async ({ text }) => {
          await gate;
          seen.add(text);
        },
        { concurrency: 1_000 },
      );
      await worker.start();
      await manager.enqueueJobs('q', NOTE, notes(1_000));
      await eventually(() => expect(worker.active).toBe(1_000));
      await redis.kill();

      const error = await eventually(async () => {
        const thrown: unknown = await manager
          .enqueueJobs('q', NOTE, notes(1, 'late'))
          .catch((e: unknown) => e);
        const cause: unknown = thrown instanceof Error ? thrown.cause : undefined;
        return cause instanceof Error && cause.name === 'CircuitOpenError' && cause;
      });
      expect(error).toMatchObject({ code: 'CIRCUIT_OPEN', retryAfterMs: expect.any(Number) });
      // Callers that waited for a connection, or for anything else, would come after the next turn of the event loop.
      const turn = new Promise((resolve) => setImmediate(resolve, 'they wait'));
      const call = (): Promise<unknown> =>
        manager.enqueueJobs('q', NOTE, notes(1, 'late')).catch((e: unknown) => e);
      expect(await Promise.race([turn, Promise.all(Array.from({ length: 200 }, call))])).toEqual(
        Array(200).fill(
          expect.objectContaining({ code: 'ENQUEUE_FAILED', failedIds: ['late-0'], enqueued: 0 }),
        ),
      );
      expect(await manager.health()).toMatchObject({ status: 'down' });
      expect(worker.health()).toMatchObject({ status: 'down' });
      expect(worker.liveness()).toEqual({ status: 'up' });
      expect(await metrics.text()).toMatch(/millrace_redis_circuit\{state="closed"\} 0/);

      open();
      await eventually(() => expect(seen.size).toBe(1_000));
      await redis.restart();
      await enqueueInSpiteOfAll('late', 1);
      await eventually(
        async () =>
          expect(await manager.getQueue('q').counts()).toMatchObject({
            waiting: 0,
            active: 0,
            delayed: 0,
            completed: 1_001,
          }),
        { timeoutMs: 60_000 },
      );
      expect(await manager.health()).toEqual({ status: 'up' });
      expect(await metrics.text()).toMatch(/millrace_redis_reconnects_total [1-9]/);
      expect(await metrics.text()).toContain('millrace_redis_circuit{state="closed"} 1');
      const moves = log.filter(({ breaker }) => breaker !== undefined);
      expect(moves[0]).toMatchObject({ breaker: 'open', from: 'closed' });
      expect(moves.at(-1)).toMatchObject({ breaker: 'closed', from: 'half-open' });
      moves.forEach(({ from }, index) => expect(from).toBe(moves[index - 1]?.breaker ?? 'closed'));
    }, 120_000);

    it('of a Redis frozen for longer than every lock kills no process and workers work again', async () => {
      await spawnWorker();
      await works('before');
      redis.pause();
      const producing = enqueueInSpiteOfAll('during', 50);
      await eventually(async () => expect(await manager.health()).toMatchObject({ status: 'down' }));
      await sleep(FROZEN_MS);
      redis.resume();
      await producing;
      await works('after');
      await eventually(() => expect(ended().has('during-49')).toBe(true));
      await survived();
    }, 150_000);

    it('of every connection cut each 100 ms, for a while, kills no process and workers work again', async () => {
      await spawnWorker();
      const until = performance.now() + STORM_MS;
      const producing = (async () => {
        for (let round = 0; performance.now() < until; round++)
          await enqueueInSpiteOfAll(`storm-${round % 50}`, 20);
      })();
      while (performance.now() < until) {
        await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await sleep(100);
      }
      await producing;
      await works('after');
      await survived();
      expect(log.length).toBeLessThan(200);
    }, 120_000);

    it('in which Redis forgets everything leaves workers that take new work', async () => {
      await spawnWorker();
      await works('before');
      for (let round = 0; round < 5; round++) {
        await enqueueInSpiteOfAll(`lost-${round}`, 500);
        await redis.flush();
      }
      await works('after');
      const before = await manager.runId();
      await redis.restart({ empty: true });
      await works('reborn');
      expect(await manager.runId()).not.toBe(before);
      await survived();
    }, 120_000);
  });

  it('is followed by connection attempts that 20 connections of 4 processes spread in time', async () => {
    const redis = await startRedis();
    const fleet = Array.from({ length: 4 }, (_, index) =>
      spawnBuilt('libs/redis/testing/reconnect.process', [redis.url, `p${index}`, '5']),
    );
    await Promise.all(fleet.map((one) => one.output('ready', 60_000)));
    await redis.kill();
    // Something that takes connections and drops them stands where Redis was, and writes down when each came.
    const times: number[] = [];
    const trap = createServer((socket) => {
      times.push(performance.now());
      socket.destroy();
    });
    trap.listen(redis.port, '127.0.0.1');
    await eventually(() => expect(times.length).toBeGreaterThan(20 * 5), { timeoutMs: 60_000 });
    trap.close();
    await Promise.all(fleet.map((one) => one.end('SIGKILL')));
    await redis.stop();
    // Without jitter all 20 come within a few milliseconds of each other, round after round.
    const late = times.slice(40);
    const crowd = late.map((start) => late.filter((time) => time >= start && time < start + 50).length);
    expect(Math.max(...crowd)).toBeLessThan(15);
  }, 120_000);
});
