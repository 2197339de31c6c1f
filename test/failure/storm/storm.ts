import { eventually, type DatabaseKind, Random } from '#testing';
import { chooseFault, faultsFor, neverStruck } from './faults/faults.js';
import type { Fault } from './faults/fault.js';
import type { FleetSize } from './fleet-plan.js';
import { HostNetwork } from './hosts/network.js';
import { peakMegabytes } from './process-facts.js';
import { HOSTS } from './services.js';
import { settle } from './settle.js';
import { StormSystem } from './system.js';
import { Turns } from './turns.js';

export interface StormOptions {
  kind: DatabaseKind;
  seed: number;
  files: number;
  seconds: number;
  log: (line: string) => void;
  /** How many times shorter the storm, its faults and the times of the apps are: the same in less time. */
  haste?: number;
  /** Which processes; unless given, each role in processes of its own. */
  fleet?: FleetSize;
  /** Whether Redis, PostgreSQL and the workers are on hosts of their own. */
  hosts?: boolean;
  /** A folder for the logs of all processes. */
  logs?: string | undefined;
  /** Ends the storm early, in order. */
  signal?: AbortSignal;
}

export interface StormResult {
  verdict: 'held' | 'broken' | 'stopped';
  /** Empty when the system held every promise. */
  findings: string[];
  /** Severe log lines by kind; in a storm they are to be expected. */
  notes: string[];
  faults: Record<string, number>;
  counts: Record<string, number>;
  requests: number;
  /** From the end of the last scan until nothing was in flight. */
  drainMs: number;
  mostMegabytes: number;
}

const START_MS = 120_000;
const MEANT_TRIES = 5;
const SHORT_PATIENCE_MS = 4_000;

/** A storm of faults over the composed system, then calm, one last scan, a drain, and the books. */
export async function storm(options: StormOptions): Promise<StormResult> {
  const random = new Random(options.seed);
  const network = options.hosts ? await hostNetwork() : undefined;
  const system = await StormSystem.start({ ...options, random, network }).catch(async (error: unknown) => {
    await network?.remove();
    throw error;
  });
  const halt = (): void => system.halt();
  options.signal?.addEventListener('abort', halt);
  try {
    return await weather(system, random, options);
  } finally {
    options.signal?.removeEventListener('abort', halt);
    await system.stop();
  }
}

/** Says why there are no hosts where the system does not permit them. */
export class HostsRefusedError extends Error {
  readonly code = 'HOSTS_REFUSED';

  constructor(reason: string) {
    super(`network namespaces cannot be made here (${reason}); run as root on Linux, or leave out --hosts`);
  }
}

async function hostNetwork(): Promise<HostNetwork> {
  const built = await HostNetwork.build(HOSTS);
  if (built.state === 'refused') throw new HostsRefusedError(built.reason);
  return built.network;
}

async function weather(system: StormSystem, random: Random, options: StormOptions): Promise<StormResult> {
  const stopped = (): boolean => options.signal?.aborted ?? false;
  if (stopped()) system.halt();
  await system.startApps(random, options.fleet);
  await eventually(() => stopped() || system.analyser.requests.length > 0, { timeoutMs: START_MS });
  const faults = await rage(system, random, options);
  options.log('calm');
  await system.calm();
  if (!stopped()) await system.scanOnce();
  const begun = performance.now();
  const { findings, counts } = stopped() ? { findings: [], counts: {} } : await settle(system, options);
  const drainMs = performance.now() - begun;
  const mostMegabytes = Math.max(0, ...system.fleet.alive.map(({ pid }) => peakMegabytes(pid)));
  await system.fleet.stop();
  const all = [
    ...neverStruck(
      faultsFor(system, () => {}),
      faults,
    ),
    ...findings,
    ...system.fleet.surprises,
    ...system.logs.escaped,
  ];
  return {
    verdict: stopped() ? 'stopped' : all.length === 0 ? 'held' : 'broken',
    findings: stopped() ? [] : all,
    notes: system.logs.notes,
    faults,
    counts,
    requests: system.analyser.requests.length,
    drainMs,
    mostMegabytes,
  };
}

/**
 * While files keep changing, so that there is always work: first those faults that are meant, one after another until something
 * was seen to come of each, then two at a time, chosen by the seed. Each is told.
 */
async function rage(
  system: StormSystem,
  random: Random,
  { seconds, haste = 1, log, signal }: StormOptions,
): Promise<Record<string, number>> {
  const struck: Record<string, number> = {};
  const faults = faultsFor(system, log);
  const ms = (seconds / haste) * 1000;
  const begun = performance.now();
  let until = Infinity;
  const raging = (): boolean => performance.now() < until && !signal?.aborted;
  const turns = new Turns();
  const strike = async (fault: Fault, source: Random): Promise<void> => {
    const told = await turns
      .take(fault.breaks, () => fault.strike(system, source))
      .catch((error: unknown) => log(`${fault.name} could not: ${String(error)}`));
    if (told === undefined) return;
    struck[fault.name] = (struck[fault.name] ?? 0) + 1;
    log(`${fault.name}: ${told}`);
  };
  const strikeAny = async (source: Random): Promise<void> => {
    while (raging()) {
      await strike(chooseFault(faults, source), source);
      await system.wait(source.between(100, 2_000));
    }
  };
  const strikeAll = async (source: Random): Promise<void> => {
    for (let tries = 0; tries < MEANT_TRIES && raging(); tries++)
      for (const fault of faults.filter(({ name, meant }) => meant && !struck[name]))
        await strike(fault, source);
    system.patienceMs = system.shortened(SHORT_PATIENCE_MS);
    until = Math.max(begun + ms, performance.now() + ms / 2);
    await Promise.all([strikeAny(source), strikeAny(new Random(random.between(0, 2 ** 31)))]);
  };
  const churn = async (source: Random): Promise<void> => {
    while (raging()) {
      await system.tree.churn(source);
      await system.wait(source.between(50, 500));
    }
  };
  const sources = [strikeAll, churn].map((work) => work(new Random(random.between(0, 2 ** 31))));
  await Promise.all(sources);
  return struck;
}
