import { seconds, type Fault } from './fault.js';

/** Redis away, empty, frozen or full. */
export const REDIS_FAULTS: readonly Fault[] = [
  {
    name: 'redis-restart',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const empty = random.next() < 0.5;
      await system.redis.kill();
      const awayMs = random.between(200, seconds(6));
      await system.wait(awayMs);
      await system.redis.restart({ empty });
      return `${empty ? 'empty' : 'with its data'} after ${awayMs} ms`;
    },
  },
  {
    name: 'redis-flush',
    breaks: 'redis',
    weight: 3,
    strike: async (system) => system.redis.flush(),
  },
  {
    name: 'redis-freeze',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const forMs = random.between(500, seconds(12));
      system.redis.pause();
      await system.wait(forMs);
      system.redis.resume();
      return `${forMs} ms`;
    },
  },
  {
    name: 'redis-full',
    breaks: 'redis',
    weight: 2,
    strike: async (system, random) => {
      const forMs = random.between(500, seconds(6));
      await system.redis.command('CONFIG', 'SET', 'maxmemory', '1');
      await system.wait(forMs);
      await system.redis.command('CONFIG', 'SET', 'maxmemory', '0');
      return `takes no writes for ${forMs} ms`;
    },
  },
];
