// The batcher as a process of its own, against gpt-tokenizer on the same texts and against a bare BullMQ worker, turn and
// turn about: `npm run bench -- batcher [scale]`.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { countTokens as gptTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { PROJECT_ROOT } from '../libs/testing/src/child.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';
import { batch, filesBelow, isWarmUp, noOpRate, type Round } from './batcher.rounds.js';
import { floorRate } from './batcher.floor.js';
import { report } from './report.js';

const SCALE = Number(process.argv[2] ?? 1);
const ROUNDS = 3;
// Enough that filling an empty batcher and waiting for the last file are a small part.
const TEXT_BYTES = 240_000_000 * SCALE;
const TINY_FILES = Math.ceil(50_000 * SCALE);
const TIMED_FILES = Array.from({ length: TINY_FILES }).filter((_, n) => !isWarmUp(n)).length;
const MB = 1_000_000;
const CORES = availableParallelism();

const best = (values: readonly number[]): number => Math.max(...values);

/** MB of a sample of the texts that gpt-tokenizer counts on one thread in a second, and in one of processor time. */
function gptRate(texts: readonly string[]): { rate: number; cpuRate: number } {
  let bytes = 0;
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  for (const text of texts) {
    gptTokens(text, { disallowedSpecial: new Set() });
    bytes += Buffer.byteLength(text);
  }
  const seconds = (performance.now() - begun) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);
  return { rate: bytes / MB / seconds, cpuRate: bytes / (cpu.user + cpu.system) };
}

async function measureText(): Promise<void> {
  const files = filesBelow(join(PROJECT_ROOT, 'node_modules'), /\.(js|ts|md|json)$/, TEXT_BYTES);
  const paths = files.map(({ path }) => path);
  const timed = files.filter((_, n) => !isWarmUp(n));
  const megabytes = timed.reduce((sum, { size }) => sum + size, 0) / MB;
  const sample = paths.filter((_, n) => n % 8 === 0).map((path) => readFileSync(path, 'utf8'));
  const peers: { rate: number; cpuRate: number }[] = [];
  const one: Round[] = [];
  const oneThread: Round[] = [];
  const two: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    peers.push(gptRate(sample));
    one.push(await batch(paths, 1, { BATCHER_THREADS: String(CORES) }));
    oneThread.push(await batch(paths, 1, { BATCHER_THREADS: '1' }));
    two.push(await batch(paths, 2, { BATCHER_THREADS: String(Math.max(1, CORES / 2)) }));
  }
  const rate = (rounds: readonly Round[]): number => best(rounds.map(({ seconds }) => megabytes / seconds));
  const gpt = best(peers.map((peer) => peer.rate));
  // With a thread a processor, the event loop, the database and Redis have none to themselves.
  for (const [name, threads, rounds] of [
    ['batcher-text', CORES, one],
    ['batcher-text-one-thread', 1, oneThread],
  ] as const) {
    const [value, peer] = [rate(rounds), threads * gpt];
    report({ name, value, unit: 'MB/s', peer, ratio: value / peer, aim: 1.5 });
  }
  const cpu = best(one.map(({ cpuSeconds }) => megabytes / cpuSeconds));
  const cpuPeer = best(peers.map(({ cpuRate }) => cpuRate));
  report({ name: 'batcher-text-cpu', value: cpu, unit: 'MB/cpu-s', peer: cpuPeer, ratio: cpu / cpuPeer });
  report({
    name: 'batcher-two-processes',
    value: rate(two),
    unit: 'MB/s',
    peer: rate(one),
    ratio: rate(two) / rate(one),
  });
  report({
    name: 'batcher-fill',
    value: best(one.map(({ fill }) => fill)),
    unit: 'of the budget',
    peer: 1,
    ratio: best(one.map(({ fill }) => fill)),
    aim: 0.95,
  });
  report({ name: 'batcher-peak-rss', value: best(one.map(({ peakRssMb }) => peakRssMb)), unit: 'MB' });
}

async function measureTiny(folder: string): Promise<void> {
  const paths: string[] = [];
  for (let n = 0; n < TINY_FILES; n++) {
    const path = join(folder, `d${n % 100}`, `f${n}.txt`);
    if (n < 100) await mkdir(join(folder, `d${n}`), { recursive: true });
    await writeFile(path, `tiny file number ${n}\n`);
    paths.push(path);
  }
  const peers: { rate: number; cpuRate: number }[] = [];
  const floors: number[] = [];
  const ours: Round[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    peers.push(await noOpRate(TINY_FILES, 200));
    floors.push(await floorRate(paths));
    ours.push(await batch(paths, 1, { BATCHER_THREADS: '1' }));
  }
  const peer = best(peers.map(({ rate }) => rate));
  const value = TIMED_FILES / Math.min(...ours.map(({ seconds }) => seconds));
  report({
    name: 'batcher-tiny',
    value,
    unit: 'files/s',
    peer,
    ratio: value / peer,
    aim: 0.6,
  });
  const floor = best(floors);
  report({ name: 'batcher-tiny-floor', value: floor, unit: 'files/s', peer, ratio: floor / peer });
  const cpu = best(ours.map(({ cpuSeconds }) => TIMED_FILES / cpuSeconds));
  const cpuPeer = best(peers.map(({ cpuRate }) => cpuRate));
  report({ name: 'batcher-tiny-cpu', value: cpu, unit: 'files/cpu-s', peer: cpuPeer, ratio: cpu / cpuPeer });
  const half = await batch(paths.slice(0, TINY_FILES / 2), 1, { BATCHER_THREADS: '1' });
  const peak = best(ours.map(({ peakRssMb }) => peakRssMb));
  report({
    name: 'batcher-rss-2x-files',
    value: peak,
    unit: 'MB',
    peer: half.peakRssMb,
    ratio: half.peakRssMb / peak,
    aim: 0.8,
  });
}

async function measureLag(folder: string): Promise<void> {
  const contents: Record<string, string> = {
    letter: 'a'.repeat(10 * MB),
    cjk: '汉字没有空格的长文本'.repeat(MB / 3),
    base64: randomBytes(7.5 * MB).toString('base64'),
    line: 'lorem ipsum dolor sit amet, '.repeat((5 * MB) / 28),
  };
  const paths = await Promise.all(
    Object.entries(contents).map(async ([name, content]) => {
      await writeFile(join(folder, name), content);
      return join(folder, name);
    }),
  );
  const { lag } = await batch(paths, 1, { BATCHER_THREADS: String(CORES) });
  report({ name: 'batcher-lag-on-hard-files', value: lag, unit: 's', peer: 0.2, ratio: 0.2 / lag, aim: 1 });
}

const folder = await tempFolder('bench-files');
await measureText();
await measureTiny(folder.path);
await measureLag(folder.path);
await folder.remove();
