import type { Proof } from '#proof';
import { sleep } from '#service';
import { eventually, Random } from '#testing';
import { violations } from './check.js';
import type { StormSystem } from './system.js';

export interface Settled {
  /** Empty when the system held every promise. */
  findings: string[];
  counts: Record<string, number>;
}

export interface SettleOptions {
  log: (line: string) => void;
  signal?: AbortSignal;
  drainMs?: number;
}

const DRAIN_MS = 180_000;
const QUIET_MS = 60_000;
const POLL_MS = 500;
const LATE = { files: 300, batches: 100 };

/** Waits until nothing is in flight, or a promise is seen broken, and then holds the books against each other. */
export async function settle(system: StormSystem, options: SettleOptions): Promise<Settled> {
  const { log, signal, drainMs = DRAIN_MS } = options;
  const deadline = performance.now() + drainMs;
  for (;;) {
    const proof = await system.books.proof();
    const findings = await judge(system, proof);
    if (findings) return { findings, counts: proof.counts.files };
    if (performance.now() > deadline || signal?.aborted)
      return { findings: [stillInFlight(system, proof)], counts: proof.counts.files };
    log(`draining: ${proof.inFlight} in flight ${inFlightOf(proof)}`);
    await sleep(POLL_MS, signal);
  }
}

/** Undefined while files are on their way and no promise is broken. */
async function judge(system: StormSystem, proof: Proof): Promise<string[] | undefined> {
  switch (proof.verdict) {
    case 'in flight':
      return undefined;
    case 'violated':
      return broken(proof);
    case 'proven except':
    case 'proven':
      return [
        ...(await lateDeliveries(system, proof)),
        ...broken(await system.books.deepProof()),
        ...(await violations(system)),
      ];
  }
}

/** Nothing fails for good in a storm, and the tree is as the last scan saw it: whatever is found is one too many. */
function broken({ checks, exceptions }: Proof): string[] {
  const violated = checks.filter(({ ok }) => !ok);
  return [
    ...violated.map(({ name, rows }) => `${name}: ${JSON.stringify(rows).slice(0, 500)}`),
    ...exceptions.map((found) => `excepted although nothing was wrong with it: ${JSON.stringify(found)}`),
  ];
}

/** What is done and is delivered once more, late, changes nothing and reaches nobody. */
async function lateDeliveries(system: StormSystem, before: Proof): Promise<string[]> {
  const requests = system.analyser.requests.length;
  await system.books.deliver(await system.books.jobs(LATE), new Random(1));
  await eventually(async () => (await system.books.queued()) === 0, { timeoutMs: QUIET_MS, everyMs: 200 });
  const after = await system.books.proof();
  const sent = system.analyser.requests.length - requests;
  return [
    ...(sent > 0 ? [`${sent} batches were sent again when they were delivered late`] : []),
    ...(after.digest === before.digest ? [] : ['late deliveries changed what the tables say']),
  ];
}

function inFlightOf({ counts: { files, eventsPending, batchesOpen } }: Proof): string {
  return JSON.stringify({ ...files, eventsPending, batchesOpen });
}

function stillInFlight(system: StormSystem, { inFlight, counts }: Proof): string {
  return `still ${inFlight} in flight: ${JSON.stringify(counts)}\n${system.fleet.exitSummary()}`;
}
