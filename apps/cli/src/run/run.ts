import { isTransient } from '#database';
import { DlqClient } from '#dlq-client';
import { isDrained } from '#proof';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import type { Ending } from '../fleet/child-app.js';
import { begin, hasManifest, type Running, type Undo } from './begin.js';
import { conclude } from './conclude.js';
import { failureOnItsWay } from './outcome.repository.js';
import { ProgressView } from './progress-view.js';
import { retryFailed } from './retry-failed.js';
import type { RunRequest } from './run-options.js';

// What is told ends the wait sooner.
const LOOK_MS = 500;
const LAST_LOOK_MS = 50;
const FAILURES_MS = 15_000;

/**
 * One directory through the whole pipeline: services up, scan, drain, summary and proof. Returns the exit code. Ending it
 * at any moment loses nothing: the next run goes on from the database.
 */
export async function run(request: RunRequest, stop: AbortSignal): Promise<number> {
  const undo: Undo[] = [];
  try {
    const running = await begin(request, stop, undo);
    const started = performance.now();
    const outcome = await runToEnd(running);
    running.screen.clear();
    if (outcome === 'drained') return await conclude(running, performance.now() - started);
    if (outcome === 'stopped') {
      running.screen.note('Stopped. Nothing is lost: run the same command again to go on.');
      return CLI_EXIT.interrupted;
    }
    running.data.leaveUnclean();
    throw new CliError(outcome.reason, outcome.code);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function runToEnd(running: Running): Promise<'drained' | 'stopped' | Ending> {
  const ended = new AbortController();
  // What ends one of them ends them all: none may go on looking at a database that is closed.
  const all = { ...running, stop: AbortSignal.any([running.stop, ended.signal]) };
  const view = new ProgressView(all, () => void openAdmin(all));
  try {
    return await Promise.race([
      scanAndDrain(all, view),
      view.watch(all.stop),
      running.fleet.failed,
      // Here only for its errors: that the services were started ends nothing.
      startWhenNeeded(all).then(() => new Promise<never>(() => {})),
      aborted(running.stop),
    ]);
  } finally {
    ended.abort();
  }
}

/** dlq-admin, started unless it runs; other commands are told where it is. */
export async function openAdmin(running: Running): Promise<{ client: DlqClient; url: string }> {
  const { fleet, data, places, adminKey, stop } = running;
  fleet.start('dlq-admin');
  const port = await fleet.portOf('dlq-admin', stop);
  const url = `http://127.0.0.1:${port ?? 0}`;
  if (port !== undefined) await data.tell({ pid: process.pid, ...places, adminUrl: url, adminKey });
  return { client: new DlqClient({ url, key: adminKey }), url };
}

/**
 * Lets the services work: at once when they are to stay or have something left to do (dead letters to read, a manifest to
 * write), otherwise when the scan has found work: a tree without a change needs none. dlq-admin only when there are letters
 * to look at, or somebody who asked for it; what arises meanwhile, the worker takes in.
 */
async function startWhenNeeded(running: Running): Promise<void> {
  const { request, fleet, before, clean, stop } = running;
  const { keep, retryFailed, dryRun, url } = request;
  const letters = (before.files.failed ?? 0) + before.lettersOpen > 0;
  const unwritten = !url && !dryRun && !hasManifest(request);
  const atOnce = keep || retryFailed || !clean || letters || unwritten;
  while (!stop.aborted && !atOnce && !fleet.done.queued && (await drained(running)))
    await fleet.told(LOOK_MS, stop);
  if (stop.aborted) return;
  fleet.work();
  if (!dryRun && (keep || retryFailed || letters || request.separate)) await openAdmin(running);
}

async function scanAndDrain(running: Running, view: ProgressView): Promise<'drained' | Ending> {
  const { request, fleet, screen, stop } = running;
  const say = (line: string): void => screen.note(line);
  const failed = await fleet.scan(stop, say);
  if (failed) return failed;
  view.scanning = false;
  // After the scan, so that what was edited meanwhile is known as such.
  if (request.retryFailed && !request.dryRun) await retryFailed((await openAdmin(running)).client, stop, say);
  await settled(running);
  fleet.drained();
  return 'drained';
}

/**
 * Until nothing is on its way. A file says that it failed before its letter is taken in, and until what was offered again
 * comes to an end: that is waited for, too, but not for ever, since it may have been lost. The proof tells of it then.
 */
async function settled(running: Running): Promise<void> {
  const { database, fleet, stop } = running;
  for (let until = Infinity, lookAt = 0; !stop.aborted; await fleet.told(LAST_LOOK_MS, stop)) {
    if (performance.now() < lookAt && !isAllTold(running)) continue;
    lookAt = performance.now() + LOOK_MS;
    if (!(await drained(running))) continue;
    until = Math.min(until, performance.now() + FAILURES_MS);
    if (performance.now() >= until || !(await unlessAway(failureOnItsWay(database), true))) return;
  }
}

/** Whether the processes have told that everything is settled, so that a look at the database is worth while. */
function isAllTold({ fleet, request }: Running): boolean {
  const { queued = 0, batched = 0, delivered = 0, touched = 0, skipped = 0, failed = 0 } = fleet.done;
  const sent = request.dryRun ? batched : delivered;
  return sent + touched + skipped + failed >= queued;
}

/** Whether nothing is on its way. */
function drained({ database, request }: Running): Promise<boolean> {
  return unlessAway(isDrained(database, { delivering: !request.dryRun }), false);
}

/** What is taken to be so while the database does not answer: nobody can say, and the view tells of it. */
function unlessAway(look: Promise<boolean>, otherwise: boolean): Promise<boolean> {
  return look.catch((error: unknown) => {
    if (!isTransient(error)) throw error;
    return otherwise;
  });
}

export function aborted(signal: AbortSignal): Promise<'stopped'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('stopped');
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
}
