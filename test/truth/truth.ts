import { expect, it } from '@jest/globals';
import { World, type Outcome, type Tree } from './world.js';

/** What happens to a tree, and what must be said about it afterwards. */
export interface Case {
  tree: Tree;
  /** What happens; the outcome that it ends with is the one that is judged. */
  disturb: (world: World) => Promise<Outcome>;
  verdict?: 'PROVEN' | 'PROVEN EXCEPT' | 'IN FLIGHT' | 'VIOLATED';
  /** 0 unless given, or 3 for PROVEN EXCEPT, 4 for VIOLATED. */
  code?: number;
  /** What standard error and output must say. */
  says?: RegExp;
  /** The files that `out` holds then, each once. */
  delivered?: readonly string[];
}

const CODES = { PROVEN: 0, 'IN FLIGHT': 0, 'PROVEN EXCEPT': 3, VIOLATED: 4 };

/** One case: a tree, a disturbance, and the verdict that has to come. */
export function truth(name: string, given: Case, timeoutMs = 300_000): void {
  it(
    name,
    async () => {
      const world = await World.open(given.tree);
      try {
        const outcome = await given.disturb(world);
        const { verdict, code = verdict ? CODES[verdict] : 0, says, delivered } = given;
        const words = `${outcome.stderr}\n${outcome.stdout}`;
        // The words first: they tell why the rest is not as it should be.
        if (says) expect(words).toMatch(says);
        if (outcome.code !== code) throw new Error(`exit ${outcome.code}, expected ${code}:\n${words}`);
        if (verdict) expect(outcome.verdict).toBe(verdict);
        if (delivered) expect(await world.delivered()).toEqual([...delivered].sort());
      } finally {
        await world.close();
      }
    },
    timeoutMs,
  );
}

/** So many small files, for cases that need a while. */
export function manyFiles(count: number, bytes = 400): Record<string, string> {
  const line = (n: number): string => `line ${n} of a file that is like no other ${n * 7919}\n`;
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`d${n % 5}/f${n}.txt`, line(n).repeat(Math.ceil(bytes / 50))]),
  );
}
