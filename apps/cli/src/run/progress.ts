import type { FleetCounts } from '#proof';
import type { Done } from '#service';
import { bytes, count, duration } from '../output/table.js';

interface Progress {
  elapsedMs: number;
  scanning: boolean;
  /** As it was when the run began. */
  before: FleetCounts;
  /** By this run, since. */
  done: Done;
}

const SETTLED = ['analyzed', 'skipped', 'failed'];
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const sum = (by: Record<string, number>, keys: readonly string[]): number =>
  keys.reduce((total, key) => total + (by[key] ?? 0), 0);

const total = (by: Record<string, number>): number => sum(by, Object.keys(by));

/** Where the files stand by what was told; a process that was killed may have done a little more than it told. */
function standing({ before, done }: Progress) {
  const known = total(before.files) + (done.created ?? 0);
  const within = (files: number): number => Math.min(known, Math.max(0, files));
  const aside = (done.skipped ?? 0) + (done.failed ?? 0) - (done.changed ?? 0);
  const settled = sum(before.files, SETTLED) + aside;
  return {
    known,
    bytes: total(before.bytes) + (done.createdBytes ?? 0),
    counted: within(settled + (before.files.batched ?? 0) + (done.batched ?? 0)),
    settled: within(settled + (done.delivered ?? 0) + (done.touched ?? 0)),
    failed: (before.files.failed ?? 0) + (done.failed ?? 0),
    tokens: before.tokens + (done.tokens ?? 0),
    batches: before.batches - before.batchesOpen + (done.deliveredBatches ?? 0),
  };
}

/** The calm block of a terminal: one line a stage. */
export function progressLines(progress: Progress): string[] {
  const { scanning, elapsedMs } = progress;
  const now = standing(progress);
  const spin = SPINNER[Math.floor(elapsedMs / 100) % SPINNER.length];
  return [
    `${spin} ${scanning ? 'Scanning' : 'Working'}   ${duration(elapsedMs)}${eta(progress, now)}`,
    `  discovered ${count(now.known)} files, ${bytes(now.bytes)}`,
    `  counted    ${bar(now.counted, now.known)}  ${count(now.tokens)} tokens`,
    `  delivered  ${bar(now.settled, now.known)}  ${count(now.batches)} batches, ${rate(progress)}`,
    `  failed     ${count(now.failed)}${now.failed > 0 ? '  (millrace dlq groups)' : ''}`,
  ];
}

/** The same as one line, for logs. */
export function progressLine(progress: Progress): string {
  const { elapsedMs, scanning } = progress;
  const now = standing(progress);
  return `${duration(elapsedMs)} ${scanning ? 'scanning' : 'working'}: discovered ${count(now.known)}, counted ${count(now.counted)}, delivered ${count(now.settled)}, batches ${count(now.batches)}, tokens ${count(now.tokens)}, failed ${count(now.failed)}, ${rate(progress)}`;
}

function bar(done: number, of: number): string {
  const width = 24;
  const filled = of === 0 ? 0 : Math.floor((width * done) / of);
  const percent = of === 0 ? 0 : Math.floor((100 * done) / of);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(percent).padStart(3)} %`;
}

function rate({ done, elapsedMs }: Progress): string {
  return `${bytes((done.batchedBytes ?? 0) / Math.max(elapsedMs / 1000, 0.001))}/s`;
}

/** From what was settled so far; unknown while the scan still finds more. */
function eta(
  { before, done, elapsedMs, scanning }: Progress,
  { known, settled }: ReturnType<typeof standing>,
): string {
  const byNow = settled - (sum(before.files, SETTLED) - (done.changed ?? 0));
  const left = known - settled;
  if (scanning || byNow <= 0 || left <= 0) return '';
  return `, about ${duration((elapsedMs / byNow) * left)} left`;
}
