import type { PoolMetrics } from '#worker-pool';

export interface ProgressFacts {
  folders: number;
  files: number;
  pool: Pick<PoolMetrics, 'queued' | 'active' | 'processed' | 'failed'>;
  workers: number;
  elapsedMs: number;
  /** Megabytes a second that each thread hashes. */
  hashMbPerSecond: number;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const numbers = new Intl.NumberFormat('en-US');

/** `⠋ Folders: 823 | Files: 6,420 | Workers: 8/8 | Elapsed: 1m 15s` */
export function progressLine(facts: ProgressFacts, tick: number): string {
  return `${SPINNER[tick % SPINNER.length]} ${progressText(facts)}`;
}

export function progressText({ folders, files, pool, workers, elapsedMs }: ProgressFacts): string {
  return [
    `Folders: ${numbers.format(folders)}`,
    `Files: ${numbers.format(files)}`,
    `Workers: ${pool.active}/${workers}`,
    `Elapsed: ${elapsedText(elapsedMs)}`,
  ].join(' | ');
}

/** `15s`, `1m 15s`, `2h 0m 3s` */
export function elapsedText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const first = parts.findIndex((part) => part > 0);
  const from = first < 0 ? 2 : first;
  return parts
    .map((part, index) => `${part}${'hms'[index]}`)
    .slice(from)
    .join(' ');
}
