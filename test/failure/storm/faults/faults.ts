import type { Random } from '#testing';
import type { StormSystem } from '../system.js';
import { DATABASE_FAULTS } from './database.js';
import { DELIVERY_FAULTS } from './deliveries.js';
import type { Fault } from './fault.js';
import { HOST_FAULTS } from './hosts.js';
import { LINK_FAULTS } from './links.js';
import { PROCESS_FAULTS } from './processes.js';
import { REDIS_FAULTS } from './redis.js';
import { WORLD_FAULTS } from './world.js';

export const EVERYWHERE: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...REDIS_FAULTS,
  ...DATABASE_FAULTS,
  ...DELIVERY_FAULTS,
  ...WORLD_FAULTS,
];

/** The faults that can strike this system; those that cannot, although they concern it, are told with their reason. */
export function faultsFor(system: StormSystem, tell: (line: string) => void): Fault[] {
  const { kind, network } = system.services;
  return [...EVERYWHERE, ...(network ? HOST_FAULTS : LINK_FAULTS)].filter(({ name, only, impossible }) => {
    if (only !== undefined && only !== kind) return false;
    const reason = impossible?.(system);
    if (reason !== undefined) tell(`${name} is left out: ${reason}`);
    return reason === undefined;
  });
}

export function chooseFault(faults: readonly Fault[], random: Random): Fault {
  let draw = random.next() * faults.reduce((sum, { weight }) => sum + weight, 0);
  return faults.find(({ weight }) => (draw -= weight) < 0) ?? (faults[0] as Fault);
}

/** What was meant to strike and of which nothing was seen to come: the storm says nothing about it. */
export function neverStruck(faults: readonly Fault[], struck: Readonly<Record<string, number>>): string[] {
  return faults.flatMap(({ name, meant }) =>
    meant && !struck[name]
      ? [`${name} never struck with effect: the storm did not try what it is meant to try`]
      : [],
  );
}
