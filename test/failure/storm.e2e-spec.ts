import { describe, expect, it } from '@jest/globals';
import { FULL_FLEET, WORKER_FLEET } from './storm/fleet-plan.js';
import { storm } from './storm/storm.js';

// One known storm; `npm run storm` has the others.
const SEED = 7;
const full = process.env.MILLRACE_TORTURE === 'full';

describe('a storm of faults over the whole system', () => {
  it.each([
    ['sqlite', 'in processes that hold all roles', WORKER_FLEET],
    ['postgres', 'with each role in processes of its own', FULL_FLEET],
  ] as const)(
    'loses nothing and sends nothing twice, on %s %s',
    async (kind, _, fleet) => {
      const seed = Number(process.env.MILLRACE_SEED ?? SEED);
      const told: string[] = [`seed ${seed}`];
      const { findings } = await storm({
        kind,
        fleet,
        seed,
        files: 300,
        seconds: full ? 120 : 25,
        haste: full ? 1 : 2,
        log: (line) => told.push(line),
      });
      if (findings.length > 0)
        throw new Error(`${findings.join('\n')}\n--- replay: MILLRACE_SEED=${seed}\n${told.join('\n')}`);
      expect(findings).toEqual([]);
    },
    600_000,
  );
});
