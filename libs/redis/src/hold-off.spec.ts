import { afterEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { BREAKER } from './circuit-breaker.js';
import { breakerOf, createRedisClient, parseRedisUrl, RedisGate, type RedisClient } from './index.js';

const TARGET = parseRedisUrl('redis://127.0.0.1:1');
const OPTIONS = { role: 'caller', name: 'test', lazyConnect: true, random: () => 0 } as const;

describe('the wait before a connection attempt', () => {
  let client: RedisClient | undefined;
  afterEach(() => client?.disconnect());

  const waitAfter = (attempts: number): unknown =>
    (client?.options as { retryStrategy: (attempts: number) => unknown }).retryStrategy(attempts);

  it('is not shorter than what is left of the cooldown', () => {
    client = createRedisClient(TARGET, { ...OPTIONS, holdOffMs: () => 7_000 });
    expect(waitAfter(1)).toBe(7_000);
  });

  it('is a cooldown of its own for a connection without a gate, such as that of a lock node', () => {
    client = createRedisClient(TARGET, { ...OPTIONS, reconnect: { baseMs: 1, maxMs: 2 } });
    expect(waitAfter(BREAKER.failureThreshold - 1)).toBeLessThanOrEqual(2);
    expect(waitAfter(BREAKER.failureThreshold)).toBe(500);
    expect(waitAfter(BREAKER.failureThreshold + 1)).toBe(1_000);
    expect(waitAfter(1_000)).toBe(5_000);
  });

  it('is the configured cooldown, where one is configured', () => {
    const breaker = breakerOf({ BREAKER_FAILURE_THRESHOLD: 2, BREAKER_COOLDOWN_MS: 4_000 });
    client = createRedisClient(TARGET, { ...OPTIONS, reconnect: { baseMs: 1, maxMs: 2 }, breaker });
    expect(waitAfter(1)).toBeLessThanOrEqual(2);
    expect(waitAfter(2)).toBe(2_000);
  });

  it('is what is left of the cooldown of an open gate, for whoever asks', async () => {
    const clock = { now: () => 0, monotonic: () => 0 };
    const breaker = { failureThreshold: 1, cooldownMs: 60_000, maxCooldownMs: 60_000 };
    const gate = new RedisGate(
      (holdOffMs) => (client = createRedisClient(TARGET, { ...OPTIONS, holdOffMs })),
      {
        ...{ breaker, clock, logger: silentLogger, probeKey: 'probe', random: () => 0 },
      },
    );
    expect(gate.holdOffMs()).toBe(0);
    await expect(
      gate.run('test', () => Promise.reject(new Error('Connection is closed.'))),
    ).rejects.toThrow();
    expect(gate.holdOffMs()).toBe(30_000);
    expect(waitAfter(1)).toBe(30_000);
    await gate.close(0);
  });
});
