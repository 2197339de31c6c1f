import { seconds, type Fault } from './fault.js';

/** What the tree, the destination and the neighbours do to a system that has no say in it. */
export const WORLD_FAULTS: readonly Fault[] = [
  {
    name: 'subtree-away',
    breaks: 'tree',
    meant: true,
    weight: 2,
    strike: async (system, random) => {
      const scan = await system.tree.moveAway(random, () => system.nextScan());
      return scan?.removed ? `a scan saw ${scan.removed} files gone` : undefined;
    },
  },
  {
    name: 'permissions-taken',
    breaks: 'tree',
    meant: true,
    weight: 2,
    impossible: ({ services: { heedsModes } }) =>
      heedsModes ? undefined : 'root reads everything, and setpriv cannot take that from it here',
    strike: async (system, random) => {
      const scan = await system.tree.takePermissions(random, () => system.nextScan());
      return scan?.errorCodes?.EACCES ? 'a scan could not list a folder' : undefined;
    },
  },
  {
    name: 'same-content',
    breaks: 'tree',
    meant: true,
    weight: 3,
    strike: async (system, random) => {
      const paths = await system.tree.rewriteSame(random);
      const before = await system.books.touched();
      const seen = await system.sees(async () => (await system.books.touched()) > before);
      return seen ? `${paths.length} files, seen to be what they were` : undefined;
    },
  },
  {
    name: 'destination-away',
    breaks: 'destination',
    meant: true,
    weight: 2,
    strike: async (system, random) => {
      const forMs = random.between(500, seconds(6));
      const { analyser } = system;
      const before = analyser.refused;
      const gone = random.next() < 0.5;
      Object.assign(analyser, gone ? { gone } : { busy: Infinity });
      await system.wait(forMs);
      Object.assign(analyser, { gone: false, busy: 0 });
      const times = analyser.refused - before;
      return times > 0 ? `${gone ? 'gone' : 'busy'} for ${forMs} ms, ${times} requests` : undefined;
    },
  },
  {
    name: 'neighbour',
    breaks: 'neighbour',
    meant: true,
    weight: 2,
    strike: async (system, random) => {
      const { neighbour } = system;
      if (!neighbour) return undefined;
      const before = neighbour.analyser.requests.length;
      await neighbour.tree.churn(random);
      await system.scanNeighbour();
      return (await system.sees(() => neighbour.analyser.requests.length > before))
        ? 'delivered on the same Redis and database server'
        : undefined;
    },
  },
];
