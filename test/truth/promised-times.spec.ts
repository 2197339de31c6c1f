import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '#config';
import { BREAKER, RECONNECT } from '#redis';
import { config as publisher } from '../../apps/outbox-publisher/src/outbox-publisher.config.js';
import { workerTimes } from '../../libs/queue-manager/src/worker-settings.js';
import { CONNECT_TIMEOUT_MS, SOCKET_TIMEOUT_MS } from '../../libs/redis/src/redis-client.js';

const ROOT = join(import.meta.dirname, '../..');
const rowsOf = (words: RegExp): string[] =>
  readFileSync(join(ROOT, 'docs/delivery-guarantees.md'), 'utf8')
    .split('\n')
    .filter((line) => words.test(line));

/** The longest that each step may take, so that the sum is what people are told. Clocks are for the tests of the parts. */
describe('the times that the guarantees name', () => {
  it('15 s after a death: a job is free when its lock has run out and the next check is due, an event with its claim', () => {
    expect(rowsOf(/a process is killed/)).toEqual([expect.stringContaining('within 15 s')]);
    const { lockMs, stalledCheckMs } = workerTimes(1);
    expect(lockMs + stalledCheckMs).toBeLessThanOrEqual(15_000);
    const env = { DATABASE_URL: 'sqlite:/nowhere', REDIS_URL: 'redis://127.0.0.1' };
    const { publisher: times } = loadConfig(publisher, { env, cwd: '/nonexistent' });
    expect(times.CLAIM_LEASE_MS + times.POLLING_INTERVAL_MS).toBeLessThanOrEqual(15_000);
  });

  it('30 s after Redis is back: a connection that went silent is given up, waits its turn and is made anew', () => {
    expect(rowsOf(/Redis is away/)).toEqual([expect.stringContaining('within 30 s')]);
    const waitMs = Math.max(BREAKER.maxCooldownMs, RECONNECT.maxMs);
    expect(SOCKET_TIMEOUT_MS + waitMs + CONNECT_TIMEOUT_MS).toBeLessThanOrEqual(30_000);
  });
});
