import { writeFile } from 'node:fs/promises';
import { isTransient, type Database } from '#database';
import { isDrained, skipReasons, verify, type Proof } from '#proof';
import { sleep } from '#service';
import { CLI_EXIT } from '../cli.errors.js';
import { json } from '../output/table.js';
import { exitCodeOf, proofReport } from '../verify/report.js';
import { folderTotals } from './dry-run.js';
import {
  deliveredSoFar,
  failureCauses,
  touchedSince,
  waitingForFolder,
  type Delivered,
} from './outcome.repository.js';
import type { RunRequest } from './run-options.js';
import { summaryLines } from './summary.js';

interface Ended {
  request: RunRequest;
  database: Database;
  deliveredBefore: Delivered;
  elapsedMs: number;
  stop: AbortSignal;
}

const ASK_AGAIN_MS = 1_000;
const POLL_MS = 200;

/** Summary and proof of a run that has drained; `keep` leaves the services up if that was asked for. Returns the exit code. */
export async function conclude(ended: Ended, keep: () => Promise<void>): Promise<number> {
  const { request, database, elapsedMs, stop } = ended;
  const { options, directory, out } = request;
  if (options.dryRun) {
    process.stdout.write(await folderTotals(database, directory, options.output));
    return CLI_EXIT.ok;
  }
  const { proof, ...told } = await patiently(() => outcomeOf(ended), request.patienceMs, stop);
  const summary = { directory, out: options.url ? undefined : out, elapsedMs, counts: proof.counts, ...told };
  if (options.report) await writeFile(options.report, `${JSON.stringify(proof, null, 2)}\n`);
  if (options.output === 'json') process.stdout.write(json({ ...summary, proof }));
  else process.stdout.write(`${summaryLines(summary)}\n${proofReport(proof)}`);
  if (options.keep) await keep();
  // It drained; what is in flight nevertheless waits for something that this run could not wait for.
  return proof.verdict === 'in flight' ? CLI_EXIT.someFailed : exitCodeOf(proof);
}

/** What the tables say of the run at its end. */
async function outcomeOf(ended: Ended) {
  const { database, deliveredBefore } = ended;
  const proof = await settledProof(ended);
  const now = await deliveredSoFar(database);
  return {
    proof,
    delivered: {
      files: now.files - deliveredBefore.files,
      batches: now.batches - deliveredBefore.batches,
    },
    touched: await touchedSince(database, deliveredBefore.at),
    skipped: await skipReasons(database),
    causes: await failureCauses(database),
    waiting: await waitingForFolder(database),
  };
}

/**
 * A batch that failed before may have been delivered a moment ago, after the run was seen to have drained: what that left on
 * its way is waited for. What is in flight although nothing moves (a folder that is away) is told as it is.
 */
async function settledProof({ database, request, stop }: Ended): Promise<Proof> {
  const until = performance.now() + request.patienceMs;
  for (;;) {
    const proof = await verify(database);
    if (proof.verdict !== 'in flight' || stop.aborted || performance.now() > until) return proof;
    if (await isDrained(database, { delivering: true })) return proof;
    await sleep(POLL_MS, stop);
  }
}

/** Tries again while the database is away, for as long as the run has patience, and says so. */
async function patiently<T>(work: () => Promise<T>, patienceMs: number, stop: AbortSignal): Promise<T> {
  const until = performance.now() + patienceMs;
  for (let tries = 0; ; tries++)
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || performance.now() > until || stop.aborted) throw error;
      if (tries === 0)
        process.stderr.write(`Waiting: the database does not answer: ${(error as Error).message}\n`);
      await sleep(ASK_AGAIN_MS, stop);
    }
}
