import { writeFile } from 'node:fs/promises';
import { isTransient } from '#database';
import type { DlqClient } from '#dlq-client';
import { isDrained, verify, type Proof } from '#proof';
import { messageOf, sleep } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { print } from '../command.js';
import { retried } from '../dlq/bulk.js';
import { proofReport, VERDICT_EXIT } from '../verify/report.js';
import { outcomeSince } from './outcome.repository.js';
import type { Running } from './begin.js';
import { aborted, openAdmin } from './run.js';
import { folderTotals, summaryLines } from './summary.js';

const POLL_MS = 200;
const LINK_MS = 10_000;

/** Summary and proof of a run that has drained; leaves the services up if that was asked for. Returns the exit code. */
export async function conclude(running: Running, elapsedMs: number): Promise<number> {
  const { request, database, screen, stop } = running;
  const { directory, url, out, report, output } = request;
  if (request.dryRun) {
    process.stdout.write(await folderTotals(database, directory, output));
    return CLI_EXIT.ok;
  }
  const look = async () => ({
    proof: await settledProof(running),
    ...(await outcomeSince(database, running.deliveredBefore)),
  });
  const passes = (error: unknown): boolean => {
    if (!isTransient(error)) return false;
    screen.noteOnce(`Waiting: the database does not answer: ${messageOf(error)}`);
    return true;
  };
  const patience = AbortSignal.any([stop, AbortSignal.timeout(request.patienceMs)]);
  const { proof, ...outcome } = await retried(look, patience, passes);
  const summary = { directory, out: url ? undefined : out, elapsedMs, counts: proof.counts, ...outcome };
  if (report) await writeFile(report, `${JSON.stringify(proof, null, 2)}\n`);
  print(request, { ...summary, proof }, () => `${summaryLines(summary)}\n${proofReport(proof)}`);
  if (request.keep) await keepUp(running);
  // It drained; what is in flight nevertheless waits for something that this run could not wait for.
  return proof.verdict === 'in flight' ? CLI_EXIT.someFailed : VERDICT_EXIT[proof.verdict];
}

/**
 * A batch that failed before may have been delivered a moment ago, after the run was seen to have drained: what that left on
 * its way is waited for. What is in flight although nothing moves (a folder that is away) is told as it is.
 */
async function settledProof({ database, request, stop }: Running): Promise<Proof> {
  const until = performance.now() + request.patienceMs;
  for (;;) {
    const proof = await verify(database);
    if (proof.verdict !== 'in flight' || stop.aborted || performance.now() > until) return proof;
    if (await isDrained(database, { delivering: true })) return proof;
    await sleep(POLL_MS, stop);
  }
}

/** Leaves the services up until they are to end; one that cannot be kept running ends it with its reason. */
async function keepUp(running: Running): Promise<void> {
  const { client, url } = await openAdmin(running);
  const link = await signInLink(client, url, running.stop);
  process.stderr.write(`Services stay up; Ctrl-C ends them. Dead letters: ${link}\n`);
  const failed = await Promise.race([aborted(running.stop), running.fleet.failed]);
  if (failed !== 'stopped') throw new CliError(failed.reason, failed.code);
}

/** An address that signs a browser in once, as soon as dlq-admin answers; the bare one when it does not. */
async function signInLink(admin: DlqClient, adminUrl: string, stop: AbortSignal): Promise<string> {
  const until = AbortSignal.any([stop, AbortSignal.timeout(LINK_MS)]);
  const made = await retried(() => admin.signInCode(), until).catch(() => undefined);
  return made
    ? `${adminUrl}/#code=${made.code} (signs in once; \`millrace dlq link\` makes another)`
    : adminUrl;
}
