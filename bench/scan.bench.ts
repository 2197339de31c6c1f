import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fdir } from 'fdir';
// Not by '#testing': its index needs Jest.
import { spawnApp } from '../libs/testing/src/child.js';
import { startRedis } from '../libs/testing/src/redis-server.js';
import { report } from './report.js';
import { floorSeconds } from './scan.floor.js';

// What a scan costs: against fdir with an lstat a file, against what its libraries alone need for the same rows and jobs,
// against itself on an unchanged tree, against sha256sum and a duplicate finder.
// `npm run bench -- scan [files] [files for the memory figure]`
const FILES = Number(process.argv[2] ?? 50_000);
const LARGE = Number(process.argv[3] ?? 200_000);
const SMALL = 10_000;
const FILES_PER_FOLDER = 20;
const FOLDERS_PER_FOLDER = 50;

interface Run {
  elapsedMs: number;
  /** The part of it that was hashing. */
  hashMs: number;
  hashMbPerSecond: number;
  files: number;
  peakBytes: number;
}

const work = mkdtempSync(join(tmpdir(), 'millrace-bench-scan-'));
const redis = await startRedis();
let databases = 0;

try {
  const tree = plant('tree', FILES);
  await compareWithFdir(tree);
  await compareWithSha256sum(tree);
  await compareWithDuplicateFinder(tree);
  await compareMemory();
} finally {
  await redis.stop();
  rmSync(work, { recursive: true, force: true });
}

async function compareWithFdir(tree: string): Promise<void> {
  await crawl(tree);
  const rounds: { peer: number; floor: number; first: number; again: number }[] = [];
  for (let round = 0; round < 3; round++) {
    const database = freshDatabase();
    const peer = FILES / (await crawl(tree));
    const floor = FILES / (await floorSeconds(redis.url, join(work, 'floor.db'), FILES));
    await redis.flush();
    const first = await scan(tree, database);
    const again = await scan(tree, database);
    rounds.push({
      ...{ peer, floor },
      first: (FILES / first.elapsedMs) * 1000,
      again: again.elapsedMs / first.elapsedMs,
    });
    await redis.flush();
  }
  const ratio = median(rounds.map(({ first, peer }) => first / peer));
  const first = median(rounds.map((round) => round.first));
  report({ name: 'scan.first', value: first, unit: 'files/s', peer: first / ratio, ratio, aim: 0.35 });
  // The aim lies above what the libraries reach that every scan goes through, wherever this is below it.
  const floor = median(rounds.map((round) => round.floor / round.peer));
  report({
    name: 'scan.floor',
    value: floor * (first / ratio),
    unit: 'files/s',
    peer: first / ratio,
    ratio: floor,
  });
  const ofFloor = median(rounds.map((round) => round.first / round.floor));
  report({
    name: 'scan.first-of-floor',
    value: first,
    unit: 'files/s',
    peer: first / ofFloor,
    ratio: ofFloor,
  });
  const again = median(rounds.map((round) => round.again));
  report({
    name: 'scan.unchanged',
    value: again,
    unit: 'of the first scan',
    peer: 0.2,
    ratio: 0.2 / again,
    aim: 1,
  });
}

/** Seconds that fdir and an lstat a file take. */
async function crawl(tree: string): Promise<number> {
  const begun = performance.now();
  const paths = await new fdir().withFullPaths().crawl(tree).withPromise();
  for (let from = 0; from < paths.length; from += 1_000)
    await Promise.all(paths.slice(from, from + 1_000).map((path) => lstat(path, { bigint: true })));
  return (performance.now() - begun) / 1000;
}

async function compareWithSha256sum(tree: string): Promise<void> {
  const threads = availableParallelism();
  const rounds: { peer: number; hashMs: number; elapsedMs: number; hashMbPerSecond: number }[] = [];
  for (let round = 0; round < 5; round++) {
    const database = freshDatabase();
    await scan(tree, database);
    await redis.flush();
    const { hashMs, elapsedMs, hashMbPerSecond } = await scan(tree, database, {
      HASH_SCOPE: 'all',
      THREADS: String(threads),
    });
    rounds.push({ peer: sha256sumMs(tree, threads), hashMs, elapsedMs, hashMbPerSecond });
  }
  const peer = median(rounds.map((round) => round.peer));
  const ratio = median(rounds.map((round) => round.peer / round.hashMs));
  report({ name: 'scan.hash', value: peer / ratio, unit: 'ms', peer, ratio, aim: 0.5 });
  const megabytes = median(rounds.map((round) => round.hashMbPerSecond));
  // The seed's own figure: 50 MB a second and worker, for large files.
  report({ name: 'scan.hash-per-thread', value: megabytes, unit: 'MB/s', peer: 50, ratio: megabytes / 50 });
  const whole = median(rounds.map((round) => round.peer / round.elapsedMs));
  report({ name: 'scan.hash-and-rescan', value: peer / whole, unit: 'ms', peer, ratio: whole });
}

function sha256sumMs(tree: string, processes: number): number {
  const begun = performance.now();
  execFileSync('sh', [
    '-c',
    `find "$0" -type f -print0 | xargs -0 -n 500 -P ${processes} sha256sum > /dev/null`,
    tree,
  ]);
  return performance.now() - begun;
}

async function compareWithDuplicateFinder(tree: string): Promise<void> {
  const tool = ['rmlint', 'jdupes'].find(isInstalled);
  // Neither is part of the set-up: without one there is nothing to compare with.
  if (!tool) return console.log(JSON.stringify({ name: 'scan.duplicates', skipped: 'no rmlint, no jdupes' }));
  const begun = performance.now();
  const args = tool === 'rmlint' ? ['-T', 'df', '-o', 'summary:stdout', tree] : ['-r', '-q', tree];
  execFileSync(tool, args, { stdio: 'ignore', cwd: work });
  const peer = performance.now() - begun;
  const { elapsedMs: value } = await scan(tree, freshDatabase(), { HASH_SCOPE: 'candidates' });
  report({ name: 'scan.duplicates', value, unit: 'ms', peer, ratio: peer / value, aim: 1 / 1.5 });
}

async function compareMemory(): Promise<void> {
  const small = await scan(plant('small', SMALL), freshDatabase());
  await redis.flush();
  const large = await scan(plant('large', LARGE), freshDatabase());
  const growth = (large.peakBytes - small.peakBytes) / 1e6;
  const limit = 100;
  report({
    name: `scan.memory-growth-${SMALL}-to-${LARGE}`,
    value: growth,
    unit: 'MB',
    peer: limit,
    ratio: limit / Math.max(growth, 1),
    aim: 1,
  });
}

/** One producer from its start to its end; the time is that of the scan, without the start of the process. */
async function scan(tree: string, database: string, settings: NodeJS.ProcessEnv = {}): Promise<Run> {
  const child = spawnApp('producer', {
    TARGET_DIRECTORY: tree,
    DATABASE_URL: database,
    REDIS_URL: redis.url,
    LOG_FORMAT: 'json',
    ...settings,
  });
  let peakBytes = 0;
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid))), 50);
  const { code } = await child.exited;
  clearInterval(watch);
  const line = child.logs().find(({ event }) => event === 'scan-summary');
  if (code !== 0 || !line) throw new Error(`the scan failed with ${code}\n${child.stdout.slice(-2000)}`);
  return { ...(line.summary as Omit<Run, 'peakBytes'>), peakBytes };
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function plant(name: string, files: number): string {
  const root = join(work, name);
  for (let folder = 0; folder * FILES_PER_FOLDER < files; folder++) {
    const path = join(root, `g${Math.floor(folder / FOLDERS_PER_FOLDER)}`, `d${folder}`);
    mkdirSync(path, { recursive: true });
    const left = Math.min(FILES_PER_FOLDER, files - folder * FILES_PER_FOLDER);
    for (let file = 0; file < left; file++)
      writeFileSync(join(path, `file-${file}.txt`), `${folder}-${file}\n`.repeat(20 + (file % 7)));
  }
  return root;
}

function freshDatabase(): string {
  const folder = join(work, `db${databases++}`);
  mkdirSync(folder);
  return `sqlite:${join(folder, 'millrace.db')}`;
}

function isInstalled(tool: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
