import type { Fault } from './fault.js';

const FEW = { files: 20, batches: 5 };

/** Jobs that come more than once: at once, or long after the world went on. */
export const DELIVERY_FAULTS: readonly Fault[] = [
  {
    name: 'deliver-again',
    weight: 3,
    strike: async (system, random) => {
      const jobs = await system.books.jobs(FEW);
      system.kept.push(jobs);
      await system.books.deliver(jobs, random);
      return `${jobs.files.length} files, ${jobs.batches.length} batches`;
    },
  },
  {
    name: 'deliver-late',
    weight: 2,
    strike: async (system, random) => {
      // By now the files may be other revisions, or gone.
      const [jobs] = system.kept.splice(random.between(0, Math.max(0, system.kept.length - 1)), 1);
      if (!jobs) return undefined;
      await system.books.deliver(jobs, random);
      return `${jobs.files.length} files, ${jobs.batches.length} batches`;
    },
  },
];
