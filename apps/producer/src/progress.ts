import type { Logger } from '#service';
import { progressLine, progressText, type ProgressFacts } from './progress-line.js';

export interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

export interface ProgressOptions {
  facts: () => ProgressFacts;
  logger: Logger;
  /** Shows a line that renews itself, if `terminal` is one. */
  wanted: boolean;
  terminal: Terminal;
  logEveryMs: number;
}

const REFRESH_MS = 100;
const CLEAR_LINE = '\r\u001b[2K';

/** Shows how far the scan is: a line that renews itself on a terminal, a log line now and then elsewhere. */
export class Progress {
  private timer: NodeJS.Timeout | undefined;
  private tick = 0;

  constructor(private readonly options: ProgressOptions) {}

  start(): void {
    const { wanted, terminal, logEveryMs } = this.options;
    const live = wanted && terminal.isTTY === true;
    this.timer = setInterval(() => (live ? this.draw() : this.log()), live ? REFRESH_MS : logEveryMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    if (this.tick > 0) this.options.terminal.write(CLEAR_LINE);
    this.timer = undefined;
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
