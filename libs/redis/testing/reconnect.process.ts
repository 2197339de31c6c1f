import { silentLogger } from '#service';
import { createRedisClient } from '../src/redis-client.js';
import { RedisGate } from '../src/redis-gate.js';
import { parseRedisUrl } from '../src/redis-target.js';

// Connections with the breaker and backoff of every app, for tests that watch a fleet come back.
const [url = '', name = '', count = '1'] = process.argv.slice(2);
const gates = Array.from(
  { length: Number(count) },
  () =>
    new RedisGate((holdOffMs) => createRedisClient(parseRedisUrl(url), { role: 'caller', name, holdOffMs }), {
      breaker: { failureThreshold: 5, cooldownMs: 1_000, maxCooldownMs: 10_000 },
      logger: silentLogger,
      probeKey: 'probe',
    }),
);
await Promise.all(gates.map((gate) => gate.connected(60_000)));
process.stdout.write('ready\n');
