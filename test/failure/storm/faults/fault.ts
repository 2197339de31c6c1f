import type { Random } from '#testing';
import type { StormSystem } from '../system.js';

/** One thing that can go wrong: it acts, waits, and heals what it broke before it resolves with what it did. */
export interface Fault {
  name: string;
  /** How often it is chosen, against the others. */
  weight: number;
  only?: 'sqlite' | 'postgres';
  /** What it breaks alone: faults of one thing take turns. */
  breaks?: 'redis' | 'database' | 'producer' | 'disk' | 'network';
  /** Why it cannot be done here, if so. */
  impossible?: (system: StormSystem) => string | undefined;
  strike: (system: StormSystem, random: Random) => Promise<string>;
}

export const seconds = (count: number): number => count * 1000;
