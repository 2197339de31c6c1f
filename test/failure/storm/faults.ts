import type { Random } from './random.js';
import type { StormSystem } from './system.js';

/** One thing that can go wrong: it acts, waits, and heals what it broke before it resolves. */
export interface Fault {
  name: string;
  /** How often it is chosen, against the others. */
  weight: number;
  only?: 'sqlite' | 'postgres';
  /** What it breaks alone: faults of one thing take turns. */
  breaks?: 'redis' | 'database' | 'producer';
  /** Whether it takes longer than a short storm can afford. */
  long?: boolean;
  strike(system: StormSystem, random: Random): Promise<string>;
}

const seconds = (count: number): number => count * 1000;

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill',
    weight: 6,
    strike: async (system, random) => {
      const victim = random.pick(system.fleet.alive);
      victim.kill('SIGKILL');
      return victim.label;
    },
  },
  {
    name: 'freeze',
    weight: 3,
    strike: async (system, random) => {
      const victim = random.pick(system.fleet.alive);
      const forMs = random.between(500, seconds(14));
      victim.kill('SIGSTOP');
      await system.wait(forMs);
      victim.kill('SIGCONT');
      return `${victim.label} for ${forMs} ms`;
    },
  },
  {
    name: 'kill-producer',
    weight: 2,
    strike: async (system) => {
      system.producer?.signal('SIGKILL');
      return system.producer ? 'scanning' : 'between scans';
    },
  },
  {
    name: 'freeze-producer',
    weight: 2,
    breaks: 'producer',
    strike: async (system, random) => {
      const victim = system.producer;
      // Longer than its lease of 5 s, mostly.
      const forMs = random.between(seconds(3), seconds(12));
      if (!victim) return 'between scans';
      victim.signal('SIGSTOP');
      await system.wait(forMs);
      victim.signal('SIGCONT');
      return `for ${forMs} ms`;
    },
  },
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
    name: 'links-cut',
    weight: 3,
    strike: async (system) => {
      system.redisProxy.cut();
      system.databaseProxy?.cut();
      return 'all';
    },
  },
  {
    name: 'links-slow',
    weight: 2,
    strike: async (system, random) => {
      const delayMs = random.between(20, 300);
      system.redisProxy.delayMs = delayMs;
      await system.wait(random.between(seconds(1), seconds(5)));
      system.redisProxy.delayMs = 0;
      return `${delayMs} ms each way`;
    },
  },
  {
    name: 'links-black-hole',
    weight: 1,
    strike: async (system, random) => {
      const proxy = system.databaseProxy && random.next() < 0.3 ? system.databaseProxy : system.redisProxy;
      const forMs = random.between(seconds(1), seconds(10));
      proxy.blackHole = true;
      await system.wait(forMs);
      proxy.blackHole = false;
      // What was swallowed is gone for good on those links.
      proxy.cut();
      return `${proxy === system.redisProxy ? 'redis' : 'database'} for ${forMs} ms`;
    },
  },
  {
    name: 'database-restart',
    breaks: 'database',
    weight: 2,
    only: 'postgres',
    strike: async (system, random) => {
      await system.postgres?.pause();
      await system.wait(random.between(100, seconds(4)));
      await system.postgres?.resume();
      return 'restarted';
    },
  },
  {
    name: 'database-backends',
    breaks: 'database',
    weight: 3,
    only: 'postgres',
    strike: async (system) => `${await system.books.terminateBackends()} backends`,
  },
  {
    name: 'database-busy',
    weight: 3,
    only: 'sqlite',
    strike: (system, random) => system.holdWriteLock(random.between(200, seconds(8))),
  },
  {
    name: 'deliver-again',
    weight: 4,
    strike: async (system, random) => {
      const jobs = await system.books.jobs({ files: 20, batches: 5 });
      await system.books.deliver(jobs, random);
      return `${jobs.files.length} files, ${jobs.batches.length} batches`;
    },
  },
];

export function faultsFor(kind: 'sqlite' | 'postgres', long: boolean): Fault[] {
  return FAULTS.filter((fault) => (fault.only ?? kind) === kind && (long || !fault.long));
}

export function chooseFault(faults: readonly Fault[], random: Random): Fault {
  let draw = random.next() * faults.reduce((sum, { weight }) => sum + weight, 0);
  return faults.find(({ weight }) => (draw -= weight) < 0) ?? (faults[0] as Fault);
}
