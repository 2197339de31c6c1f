import { afterEach, describe, expect, it } from '@jest/globals';
import { createRedisClient, parseRedisUrl, type RedisClient } from '#redis';
import { Metrics, silentLogger } from '#service';
import { QueueManager } from './queue-manager.js';
import { Settings } from './queue-manager.options.js';
import { standardOf, workerTimes } from './worker-settings.js';

describe('the reliability settings of workers', () => {
  const url = 'redis://127.0.0.1:1';
  const target = parseRedisUrl(url);
  let client: RedisClient | undefined;
  afterEach(() => client?.disconnect());

  it('are, unless a test shortens them, a lock of 10 s, a stall check each 5 s and stalls without a limit of BullMQ', () => {
    const options = { url, workerId: 'w', logger: silentLogger, metrics: new Metrics() };
    const { times, haste, retry } = new Settings(options);
    expect(haste).toBe(1);
    expect(retry).toEqual({ baseMs: 1_000, maxMs: 60_000 });
    expect(standardOf(times)).toEqual({
      lockDuration: 10_000,
      stalledInterval: 5_000,
      maxStalledCount: 100,
      drainDelay: 5,
      runRetryDelay: 1_000,
      autorun: false,
    });
    expect(times).toMatchObject({ presenceMs: 4_000, beatMs: 1_000, trialMs: 3_000, verifyMs: 5_000 });
  });

  it('keep their proportions when a test is in haste, in whole milliseconds as Redis wants them', () => {
    expect(workerTimes(5)).toMatchObject({ lockMs: 2_000, stalledCheckMs: 1_000, presenceMs: 800 });
    expect(workerTimes(3)).toMatchObject({ lockMs: 3_333, stalledCheckMs: 1_667, presenceMs: 1_333 });
  });

  it.each(['caller', 'worker'] as const)(
    'end a silent socket of a %s after 15 s, longer than any blocking read',
    (role) => {
      client = createRedisClient(target, { role, name: 'test', lazyConnect: true });
      expect(client.options).toMatchObject({ socketTimeout: 15_000 });
    },
  );

  it("hold off the connections of workers for the rest of the circuit's cooldown", async () => {
    const breaker = { failureThreshold: 1, cooldownMs: 60_000, maxCooldownMs: 60_000 };
    const options = { url, workerId: 'w', logger: silentLogger, metrics: new Metrics(), breaker };
    const manager = new QueueManager(options);
    const failing = manager.gate.run('test', () => Promise.reject(new Error('Connection is closed.')));
    await expect(failing).rejects.toThrow();
    client = manager.connectWorker();
    const { retryStrategy } = client.options as { retryStrategy: (attempts: number) => number };
    expect(retryStrategy(1)).toBeGreaterThan(20_000);
    await manager.closeConnections();
  });
});
