import { eventually } from '#testing';
import { seconds, type Fault } from './fault.js';

/** Redis away, empty, frozen or full. */
export const REDIS_FAULTS: readonly Fault[] = [
  {
    name: 'redis-restart',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const empty = random.next() < 0.5;
      await system.services.redis.kill();
      const awayMs = random.between(200, seconds(6));
      await system.wait(awayMs);
      await system.services.redis.restart({ empty });
      return `${empty ? 'empty' : 'with its data'} after ${awayMs} ms`;
    },
  },
  {
    name: 'redis-flush',
    breaks: 'redis',
    weight: 3,
    strike: async (system) => system.services.redis.flush(),
  },
  {
    name: 'redis-freeze',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const forMs = random.between(500, seconds(12));
      system.services.redis.pause();
      await system.wait(forMs);
      system.services.redis.resume();
      return `${forMs} ms`;
    },
  },
  {
    name: 'redis-full',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const forMs = random.between(500, seconds(6));
      await system.services.redis.command('CONFIG', 'SET', 'maxmemory', '1');
      await system.wait(forMs);
      // Its host may be unplugged just now.
      const { redis } = system.services;
      await eventually(() => redis.command('CONFIG', 'SET', 'maxmemory', '0'), { timeoutMs: 60_000 });
      return `takes no writes for ${forMs} ms`;
    },
  },
];
