import type { Random } from '#testing';
import type { HostNetwork } from '../hosts/network.js';
import type { StormSystem } from '../system.js';
import { seconds, type Fault } from './fault.js';

/** Cables, partitions and bottlenecks between hosts, where the system is spread over hosts. */
export const HOST_FAULTS: readonly Fault[] = [
  {
    name: 'host-unplugged',
    breaks: 'network',
    meant: true,
    weight: 6,
    strike: (system, random) =>
      withHost(system, random, async (network, host) => {
        const forMs = random.between(seconds(1), seconds(15));
        await network.unplug(host);
        await system.wait(forMs);
        await network.plug(host);
        return `${host} for ${forMs} ms`;
      }),
  },
  {
    name: 'hosts-parted',
    breaks: 'network',
    weight: 6,
    strike: (system, random) =>
      withHost(system, random, async (network, host) => {
        const other = random.pick(network.hosts.filter((name) => name !== host));
        const there = [host, other] as const;
        const back = [other, host] as const;
        const ways = random.next() < 0.5 ? [there] : [there, back];
        const forMs = random.between(seconds(1), seconds(25));
        for (const [from, to] of ways) await network.part(from, to);
        await system.wait(forMs);
        for (const [from, to] of ways) await network.rejoin(from, to);
        return `${host} ${ways.length === 1 ? '→' : '↔'} ${other} for ${forMs} ms`;
      }),
  },
  {
    name: 'host-slow',
    breaks: 'network',
    weight: 3,
    strike: (system, random) =>
      withHost(system, random, async (network, host) => {
        const kilobits = random.between(64, 1_024);
        await network.throttle(host, kilobits);
        await system.wait(random.between(seconds(1), seconds(8)));
        await network.unthrottle(host);
        return `${host} sends ${kilobits} kbit/s`;
      }),
  },
];

async function withHost(
  { services: { network } }: StormSystem,
  random: Random,
  strike: (network: HostNetwork, host: string) => Promise<string>,
): Promise<string> {
  return network ? strike(network, random.pick(network.hosts)) : 'all on one host';
}
