import { sleep } from '#service';
import { eventually, type DatabaseKind } from '#testing';
import { proofOf, violations } from './check.js';
import { chooseFault, faultsFor } from './faults.js';
import { Random } from './random.js';
import { StormSystem } from './system.js';

export interface StormOptions {
  kind: DatabaseKind;
  seed: number;
  files: number;
  seconds: number;
  log: (line: string) => void;
}

export interface StormResult {
  /** Empty when the system held every promise. */
  findings: string[];
  faults: Record<string, number>;
  counts: Record<string, number>;
  requests: number;
}

const DRAIN_MS = 180_000;
const START_MS = 120_000;
const STRIKERS = 2;

/** A storm of faults over the composed system, then calm, one last scan, a drain, and the books. */
export async function storm(options: StormOptions): Promise<StormResult> {
  const random = new Random(options.seed);
  const system = await StormSystem.start(options.kind, options.files, random);
  try {
    system.startApps();
    await eventually(() => system.analyser.requests.length > 0, { timeoutMs: START_MS });
    const faults = await rage(system, random, options);
    options.log('calm');
    await system.calm();
    await system.scanOnce();
    const { findings, counts } = await settle(system, options);
    await system.fleet.stop();
    return {
      findings: [...findings, ...system.fleet.surprises],
      faults,
      counts,
      requests: system.analyser.requests.length,
    };
  } finally {
    await system.stop();
  }
}

/** Two faults at a time, chosen by the seed, while files keep changing so that there is always work; each is told. */
async function rage(
  system: StormSystem,
  random: Random,
  { kind, seconds, log }: StormOptions,
): Promise<Record<string, number>> {
  const struck: Record<string, number> = {};
  const faults = faultsFor(kind, seconds > 300);
  const until = performance.now() + seconds * 1000;
  const strike = async (source: Random): Promise<void> => {
    while (performance.now() < until) {
      const fault = chooseFault(faults, source);
      const told = await fault.strike(system, source).catch((error: Error) => `could not: ${error.message}`);
      struck[fault.name] = (struck[fault.name] ?? 0) + 1;
      log(`${fault.name}: ${told}`);
      await sleep(source.between(100, 2_000));
    }
  };
  const churn = async (source: Random): Promise<void> => {
    while (performance.now() < until) {
      await system.tree.churn(source);
      await sleep(source.between(50, 500));
    }
  };
  const sources = Array.from({ length: STRIKERS + 1 }, () => new Random(random.between(0, 2 ** 31)));
  await Promise.all(sources.map((source, index) => (index < STRIKERS ? strike(source) : churn(source))));
  return struck;
}

async function settle(
  system: StormSystem,
  { log }: StormOptions,
): Promise<{ findings: string[]; counts: Record<string, number> }> {
  const deadline = performance.now() + DRAIN_MS;
  for (;;) {
    const proof = await proofOf(system);
    const broken = proof.checks
      .filter(({ ok }) => !ok)
      .map(({ name, rows }) => `${name}: ${JSON.stringify(rows).slice(0, 500)}`);
    if (proof.verdict === 'violated') return { findings: broken, counts: proof.counts.files };
    if (proof.verdict === 'proven') {
      const failed = proof.counts.files.failed ?? 0;
      const unexpected = failed > 0 ? [`${failed} files failed although nothing was wrong with them`] : [];
      return { findings: [...unexpected, ...(await violations(system))], counts: proof.counts.files };
    }
    if (performance.now() > deadline)
      return {
        findings: [
          `still ${proof.inFlight} in flight: ${JSON.stringify(proof.counts)}\n${system.fleet.lastWords()}`,
        ],
        counts: proof.counts.files,
      };
    log(`draining: ${proof.inFlight} in flight`);
    await sleep(2_000);
  }
}
