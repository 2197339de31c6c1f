import { seconds, type Fault } from './fault.js';

/** The network between the processes and what they depend on. */
export const LINK_FAULTS: readonly Fault[] = [
  {
    name: 'links-cut',
    weight: 3,
    strike: async (system) => {
      for (const proxy of system.services.proxies) proxy.cut();
      return 'all';
    },
  },
  {
    name: 'links-torn',
    weight: 2,
    strike: async (system, random) => {
      const proxy = random.pick(system.services.proxies);
      const bytes = random.between(1, 4_000);
      proxy.tearAfter(bytes);
      return `${proxy.name} in the middle of a message, after ${bytes} bytes`;
    },
  },
  {
    name: 'links-slow',
    weight: 2,
    strike: async (system, random) => {
      const delayMs = random.between(20, 300);
      const proxy = random.pick(system.services.proxies);
      proxy.delayMs = delayMs;
      await system.wait(random.between(seconds(1), seconds(5)));
      proxy.delayMs = 0;
      return `${proxy.name} by ${delayMs} ms each way`;
    },
  },
  {
    name: 'links-black-hole',
    weight: 2,
    strike: async (system, random) => {
      const proxy = random.pick(system.services.proxies);
      const swallows = random.pick(['everything', 'replies'] as const);
      const forMs = random.between(seconds(1), seconds(10));
      proxy.swallows = swallows;
      await system.wait(forMs);
      proxy.swallows = 'nothing';
      // What was swallowed is gone for good on those links.
      proxy.cut();
      return `${proxy.name} swallowed ${swallows} for ${forMs} ms`;
    },
  },
];
