import { afterEach, describe, expect, it } from '@jest/globals';
import type { RedisClient } from '#redis';
import { Metrics, silentLogger } from '#service';
import type { LockNode } from './lock-node.js';
import { LockService } from './lock.service.js';

describe('a lock node', () => {
  let node: LockNode | undefined;
  afterEach(() => node?.disconnect());

  it('that does not answer is left alone for the cooldown that its service is told', () => {
    const service = new LockService({
      ...{ urls: ['redis://127.0.0.1:1'], keyPrefix: 'lock:', leaseMs: 1_000, renewalIntervalMs: 400 },
      ...{ workerId: 'w', fences: { issue: () => Promise.resolve(1) } },
      breaker: { failureThreshold: 2, cooldownMs: 8_000 },
      ...{ logger: silentLogger, metrics: new Metrics() },
    });
    node = (service as unknown as { createNode(url: string): LockNode }).createNode('redis://127.0.0.1:1');
    const { client } = node as unknown as { client: RedisClient };
    const { retryStrategy } = client.options as { retryStrategy: (attempts: number) => number };
    expect(retryStrategy(1)).toBeLessThan(1_000);
    expect(retryStrategy(2)).toBeGreaterThanOrEqual(4_000);
  });
});
