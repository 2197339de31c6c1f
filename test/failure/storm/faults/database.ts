import { seconds, type Fault } from './fault.js';

/** The database away, busy or full. */
export const DATABASE_FAULTS: readonly Fault[] = [
  {
    name: 'database-restart',
    breaks: 'database',
    weight: 2,
    only: 'postgres',
    strike: async (system, random) => {
      await system.services.postgres?.pause();
      await system.wait(random.between(100, seconds(4)));
      await system.services.postgres?.resume();
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
    name: 'database-disk-full',
    breaks: 'disk',
    weight: 2,
    only: 'sqlite',
    impossible: ({ services: { disk } }) => (disk.state === 'refused' ? disk.reason : undefined),
    strike: async (system, random) => {
      if (system.services.disk.state === 'refused') return system.services.disk.reason;
      const { disk } = system.services.disk;
      const forMs = random.between(500, seconds(6));
      await disk.fill();
      await system.wait(forMs);
      await disk.free();
      return `for ${forMs} ms`;
    },
  },
];
