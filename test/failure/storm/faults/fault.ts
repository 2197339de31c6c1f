import type { Random } from '#testing';
import type { StormSystem } from '../system.js';

/** One thing that can go wrong: it acts, waits, and heals what it broke before it resolves with what it did. */
export interface Fault {
  name: string;
  /** How often it is chosen, against the others. */
  weight: number;
  only?: 'sqlite' | 'postgres';
  /** What it breaks alone: faults of one thing take turns. */
  breaks?: 'redis' | 'tree' | 'destination' | 'database' | 'producer' | 'disk' | 'network' | 'neighbour';
  /** Why it cannot be done here, if so. */
  impossible?: (system: StormSystem) => string | undefined;
  /** A storm in which it never struck has not tried what it is meant to try. It tells only of what it has seen come of it. */
  meant?: true;
  /** What it did; undefined when there was nothing to strike just now, or nothing came of it. */
  strike: (system: StormSystem, random: Random) => Promise<string | undefined>;
}

export const seconds = (count: number): number => count * 1000;
