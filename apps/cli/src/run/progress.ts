import type { FleetCounts } from '#proof';
import { bytes, count, duration } from '../output/table.js';

export interface Progress {
  elapsedMs: number;
  scanning: boolean;
  counts: FleetCounts;
  /** Files and bytes that were settled before this run began. */
  before: { settled: number; bytes: number };
}

const SETTLED = ['analyzed', 'skipped', 'failed'];
const COUNTED = ['batched', ...SETTLED];
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const sum = (by: Record<string, number>, keys: readonly string[]): number =>
  keys.reduce((total, key) => total + (by[key] ?? 0), 0);

const total = (by: Record<string, number>): number => sum(by, Object.keys(by));

export function settled(counts: FleetCounts): { settled: number; bytes: number } {
  return { settled: sum(counts.files, SETTLED), bytes: sum(counts.bytes, SETTLED) };
}

/** The calm block of a terminal: one line a stage. */
export function progressLines(progress: Progress): string[] {
  const { counts, scanning, elapsedMs } = progress;
  const discovered = total(counts.files);
  const spin = SPINNER[Math.floor(elapsedMs / 100) % SPINNER.length];
  const failures = counts.files.failed ?? 0;
  return [
    `${spin} ${scanning ? 'Scanning' : 'Working'}   ${duration(elapsedMs)}${eta(progress)}`,
    `  discovered ${count(discovered)} files, ${bytes(total(counts.bytes))}`,
    `  counted    ${bar(sum(counts.files, COUNTED), discovered)}  ${count(counts.tokens)} tokens`,
    `  delivered  ${bar(sum(counts.files, SETTLED), discovered)}  ${count(counts.batches - counts.batchesOpen)} batches, ${rate(progress)}`,
    `  failed     ${count(failures)}${failures > 0 ? '  (millrace dlq groups)' : ''}`,
  ];
}

/** The same as one line, for logs. */
export function progressLine(progress: Progress): string {
  const { counts, elapsedMs, scanning } = progress;
  const done = sum(counts.files, SETTLED);
  return `${duration(elapsedMs)} ${scanning ? 'scanning' : 'working'}: discovered ${count(total(counts.files))}, counted ${count(sum(counts.files, COUNTED))}, delivered ${count(done)}, batches ${count(counts.batches)}, tokens ${count(counts.tokens)}, failed ${count(counts.files.failed ?? 0)}, ${rate(progress)}`;
}

function bar(done: number, of: number): string {
  const width = 24;
  const filled = of === 0 ? 0 : Math.floor((width * done) / of);
  const percent = of === 0 ? 0 : Math.floor((100 * done) / of);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${String(percent).padStart(3)} %`;
}

function rate({ counts, before, elapsedMs }: Progress): string {
  const done = settled(counts).bytes - before.bytes;
  return `${bytes(Math.max(0, done) / Math.max(elapsedMs / 1000, 0.001))}/s`;
}

/** From what was settled so far; unknown while the scan still finds more. */
function eta({ counts, before, elapsedMs, scanning }: Progress): string {
  const done = settled(counts).settled - before.settled;
  const left = total(counts.files) - settled(counts).settled;
  if (scanning || done <= 0 || left <= 0) return '';
  return `, about ${duration((elapsedMs / done) * left)} left`;
}
