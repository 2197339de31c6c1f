import type { Logger } from '#service';
import type { PoolMetrics } from '#worker-pool';

interface ProgressFacts {
  folders: number;
  files: number;
  pool: Pick<PoolMetrics, 'queued' | 'active' | 'processed' | 'failed'>;
  workers: number;
  elapsedMs: number;
  /** Megabytes a second that each thread hashes. */
  hashMbPerSecond: number;
}

interface ProgressOptions {
  facts: () => ProgressFacts;
  logger: Logger;
  /** Shows a line that renews itself, if `terminal` is one. */
  wanted: boolean;
  terminal: { isTTY?: boolean; write(text: string): unknown };
  logEveryMs: number;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const numbers = new Intl.NumberFormat('en-US');
const REFRESH_MS = 100;
const CLEAR_LINE = '\r\u001b[2K';

/** Shows how far the scan is: a line that renews itself on a terminal, a log line now and then elsewhere. */
export class Progress {
  private tick = 0;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: ProgressOptions) {
    const { wanted, terminal, logEveryMs } = options;
    const live = wanted && terminal.isTTY === true;
    this.timer = setInterval(() => (live ? this.draw() : this.log()), live ? REFRESH_MS : logEveryMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    if (this.tick > 0) this.options.terminal.write(CLEAR_LINE);
  }

  draw(): void {
    const { facts, terminal } = this.options;
    terminal.write(`${CLEAR_LINE}${progressLine(facts(), this.tick++)}`);
  }

  log(): void {
    const { facts, logger } = this.options;
    const now = facts();
    logger.info({ event: 'scan-progress', ...now }, progressText(now));
  }
}

/** `⠋ Folders: 823 | Files: 6,420 | Workers: 8/8 | Elapsed: 1m 15s` */
export function progressLine(facts: ProgressFacts, tick: number): string {
  return `${SPINNER[tick % SPINNER.length]} ${progressText(facts)}`;
}

function progressText({ folders, files, pool, workers, elapsedMs }: ProgressFacts): string {
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
