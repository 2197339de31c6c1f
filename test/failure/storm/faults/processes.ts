import type { Random } from '#testing';
import type { StormSystem } from '../system.js';
import { seconds, type Fault } from './fault.js';

const HOUR_MS = 3_600_000;

/** Crashes, deploys, pauses, blocked event loops and wrong clocks of single processes. */
export const PROCESS_FAULTS: readonly Fault[] = [
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
    name: 'terminate',
    weight: 2,
    strike: async (system, random) => {
      const victim = random.pick(system.fleet.alive);
      victim.kill('SIGTERM');
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
    name: 'block',
    weight: 2,
    strike: async (system, random) => {
      const victim = random.pick(system.fleet.alive);
      // Mostly longer than a job's lock, which is 10 s.
      const forMs = system.shortened(random.between(seconds(6), seconds(14)));
      return system.orders.give(victim.pid, { kind: 'block', forMs })
        ? `event loop of ${victim.label} for ${forMs} ms`
        : undefined;
    },
  },
  {
    name: 'clock-forward',
    weight: 1,
    strike: (system, random) => shiftClock(system, random, HOUR_MS),
  },
  {
    name: 'clock-back',
    meant: true,
    weight: 1,
    strike: (system, random) => shiftClock(system, random, -HOUR_MS),
  },
  {
    name: 'kill-producer',
    meant: true,
    weight: 2,
    breaks: 'producer',
    strike: async (system) => {
      const victim = await system.endlessScan();
      if (!victim) return undefined;
      try {
        await victim.output(/scan \d+ (begins|continues)/, system.patienceMs);
      } finally {
        victim.signal('SIGKILL');
      }
      return (await system.seesResumedScan()) ? 'a later scan went on from there' : undefined;
    },
  },
  {
    name: 'freeze-producer',
    weight: 2,
    breaks: 'producer',
    strike: async (system, random) => {
      const victim = system.producer;
      // Mostly longer than its lease, which is 5 s.
      const forMs = random.between(seconds(3), seconds(12));
      if (!victim) return undefined;
      victim.signal('SIGSTOP');
      await system.wait(forMs);
      victim.signal('SIGCONT');
      return `for ${forMs} ms`;
    },
  },
  {
    name: 'clock-producer',
    weight: 1,
    breaks: 'producer',
    strike: async (system, random) => {
      const byMs = random.pick([HOUR_MS, -HOUR_MS]);
      const told = system.producer && system.orders.give(system.producer.pid, { kind: 'shift', byMs });
      return told ? `wrong by ${byMs / HOUR_MS} h` : undefined;
    },
  },
];

/** Struck when the process writes its log under the wrong time. */
async function shiftClock(system: StormSystem, random: Random, byMs: number): Promise<string | undefined> {
  const { label, pid, lastLine } = random.pick(system.fleet.alive);
  if (!system.orders.give(pid, { kind: 'shift', byMs })) return undefined;
  const wrong = (): boolean =>
    Math.abs(Date.now() + byMs - Date.parse(String(lastLine().time))) < HOUR_MS / 2;
  return (await system.sees(wrong)) ? `${label} is wrong by ${byMs / HOUR_MS} h` : undefined;
}
