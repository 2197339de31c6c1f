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
        : `${victim.label} is just starting`;
    },
  },
  {
    name: 'clock',
    weight: 2,
    strike: async (system, random) => {
      const { label, pid } = random.pick(system.fleet.alive);
      const byMs = random.pick([HOUR_MS, -HOUR_MS]);
      return system.orders.give(pid, { kind: 'shift', byMs })
        ? `${label} is wrong by ${byMs / HOUR_MS} h`
        : `${label} is just starting`;
    },
  },
  {
    name: 'kill-producer',
    weight: 2,
    breaks: 'producer',
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
      // Mostly longer than its lease, which is 5 s.
      const forMs = random.between(seconds(3), seconds(12));
      if (!victim) return 'between scans';
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
      return told ? `wrong by ${byMs / HOUR_MS} h` : 'between scans';
    },
  },
];
