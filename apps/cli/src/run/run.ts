import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '#database';
import { DlqClient } from '#dlq-client';
import { EXIT, sleep } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { isDrained, readCounts, skipReasons, verify, type FleetCounts } from '#proof';
import { DataDirectory } from '../fleet/data-directory.js';
import { Fleet } from '../fleet/fleet.js';
import { freePort } from '../fleet/free-port.js';
import { Screen } from '../output/screen.js';
import { json } from '../output/table.js';
import { exitCodeOf, proofReport } from '../verify/report.js';
import { folderTotals } from './dry-run.js';
import { fleetPlan, producerEnvironment } from './plan.js';
import { ProgressView } from './progress-view.js';
import { isInside, type RunRequest } from './run-options.js';
import { scanAfresh } from './scan-afresh.js';
import { openDatabase, openServices, type Undo } from './services.js';
import { summaryLines } from './summary.js';

const POLL_MS = 200;
const LOOK_MS = 50;
const MANIFEST = 'manifest.json';
const KEPT_ADMIN_PORT = 8080;
const LINK_TRIES = 50;

/**
 * One directory through the whole pipeline: services up, scan, drain, summary and proof. Returns the exit code. Ending it
 * at any moment loses nothing: the next run goes on from the database.
 */
export async function run(request: RunRequest, stop: AbortSignal): Promise<number> {
  const undo: Undo[] = [];
  try {
    return await runWith(request, stop, undo);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function runWith(request: RunRequest, stop: AbortSignal, undo: Undo[]): Promise<number> {
  const screen = new Screen(process.stderr);
  const data = await openData(request, undo);
  tellPlaces(request, data, screen);
  const { places, clean } = await openServices(data, undo);
  const database = await openDatabase(places.databaseUrl, undo);
  const before = await readCounts(database);
  const adminPort = await freePort(request.options.keep ? KEPT_ADMIN_PORT : 0);
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const adminKey = randomBytes(32).toString('base64url');
  await data.claim({ pid: process.pid, ...places, ...(!request.options.dryRun && { adminUrl, adminKey }) });
  const fleet = new Fleet(fleetPlan(request, data, places, { port: adminPort, key: adminKey }));
  undo.push(() => fleet.stop());
  const ended = new AbortController();
  undo.push(async () => ended.abort());
  const settled = clean && (before.files.failed ?? 0) === 0;
  const needed = startWhenNeeded(request, fleet, database, settled, AbortSignal.any([stop, ended.signal]));
  const started = performance.now();
  const outcome = await Promise.race([
    scanAndDrain(request, data, fleet, database, screen, before, stop),
    fleet.failed.then((reason) => ({ failed: reason })),
    // Here only for its errors: that the services were started ends nothing.
    needed.then(() => new Promise<never>(() => {})),
    aborted(stop),
  ]);
  screen.clear();
  if (outcome === 'stopped') return stopped(screen);
  if (outcome !== 'drained') {
    data.leaveUnclean();
    throw new CliError(outcome.failed);
  }
  return await conclude(request, database, before, performance.now() - started, () =>
    keepUp(fleet, new DlqClient({ url: adminUrl, key: adminKey }), adminUrl, stop),
  );
}

async function openData({ options }: RunRequest, undo: Undo[]): Promise<DataDirectory> {
  if (!options.dryRun) {
    const data = new DataDirectory(options.data);
    await data.create();
    return data;
  }
  const folder = await mkdtemp(join(tmpdir(), 'millrace-dry-'));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const data = new DataDirectory(folder);
  await data.create();
  return data;
}

function tellPlaces({ directory, out, options }: RunRequest, data: DataDirectory, screen: Screen): void {
  if (options.dryRun) return;
  for (const [what, path] of [
    ['output', out],
    ['data', data.path],
  ] as const)
    if (isInside(path, directory))
      screen.note(`The ${what} folder ${path} is inside the directory; it is left out of the scan.`);
}

/**
 * Starts the services: at once when they are to stay or have something left to do (dead letters to read, a manifest to
 * write), otherwise when the scan has found work. Five processes take seconds to start, and a tree without a change needs none.
 */
async function startWhenNeeded(
  { options, out }: RunRequest,
  fleet: Fleet,
  database: Database,
  settled: boolean,
  stop: AbortSignal,
): Promise<void> {
  const unwritten = !options.url && !options.dryRun && !existsSync(join(out, MANIFEST));
  const atOnce = options.keep || !settled || unwritten;
  while (!stop.aborted) {
    if (atOnce || !(await isDrained(database, { delivering: !options.dryRun }))) return fleet.start();
    await sleep(LOOK_MS, stop);
  }
}

async function scanAndDrain(
  request: RunRequest,
  data: DataDirectory,
  fleet: Fleet,
  database: Database,
  screen: Screen,
  before: FleetCounts,
  stop: AbortSignal,
): Promise<'drained' | { failed: string }> {
  const producer = fleet.task('producer', producerEnvironment(request));
  let scanned: number | undefined;
  const scan = scanAfresh(producer, stop, () =>
    screen.noteOnce(
      'Waiting: another scan of this directory is in progress, or was killed less than its lease ago.',
    ),
  ).then((code) => (scanned = code));
  const folders = { data: data.path, ...(!request.options.dryRun && { output: request.out }) };
  const view = new ProgressView({
    database,
    fleet,
    screen,
    before,
    scanning: () => scanned === undefined,
    folders,
  });
  const drain = async (): Promise<'drained' | { failed: string }> => {
    if ((await scan) !== EXIT.ok) return { failed: producer.lastWords(scanned ?? EXIT.failed) };
    while (!stop.aborted && !(await isDrained(database, { delivering: !request.options.dryRun })))
      await sleep(POLL_MS, stop);
    return 'drained';
  };
  try {
    return await Promise.race([drain(), view.watch(stop)]);
  } finally {
    view.end();
  }
}

function aborted(signal: AbortSignal): Promise<'stopped'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('stopped');
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
}

function stopped(screen: Screen): number {
  screen.note('Stopped. Nothing is lost: run the same command again to go on.');
  return CLI_EXIT.interrupted;
}

async function conclude(
  { options, directory, out }: RunRequest,
  database: Database,
  before: FleetCounts,
  elapsedMs: number,
  keep: () => Promise<void>,
): Promise<number> {
  if (options.dryRun) {
    process.stdout.write(await folderTotals(database, directory, options.output));
    return CLI_EXIT.ok;
  }
  const proof = await verify(database);
  const { counts } = proof;
  const delivered = {
    files: (counts.files.analyzed ?? 0) - (before.files.analyzed ?? 0),
    batches: counts.batches - counts.batchesOpen - (before.batches - before.batchesOpen),
  };
  const summary = {
    directory,
    out: options.url ? undefined : out,
    elapsedMs,
    counts,
    delivered,
    skipped: await skipReasons(database),
  };
  if (options.report) await writeFile(options.report, `${JSON.stringify(proof, null, 2)}\n`);
  if (options.output === 'json') process.stdout.write(json({ ...summary, proof }));
  else process.stdout.write(`${summaryLines(summary)}\n${proofReport(proof)}`);
  if (options.keep) await keep();
  return exitCodeOf(proof);
}

/** An address that signs a browser in once, as soon as dlq-admin answers; the bare one when it does not. */
async function signInLink(admin: DlqClient, adminUrl: string, stop: AbortSignal): Promise<string> {
  for (let tries = 0; tries < LINK_TRIES && !stop.aborted; tries++) {
    const made = await admin.signInCode().catch(() => undefined);
    if (made) return `${adminUrl}/#code=${made.code} (signs in once; \`millrace dlq link\` makes another)`;
    await sleep(POLL_MS, stop);
  }
  return adminUrl;
}

async function keepUp(fleet: Fleet, admin: DlqClient, adminUrl: string, stop: AbortSignal): Promise<void> {
  const link = await signInLink(admin, adminUrl, stop);
  process.stderr.write(`Services stay up; Ctrl-C ends them. Dead letters: ${link}\n`);
  await Promise.race([aborted(stop), fleet.failed]);
}
