import { down, Loop, systemClock, UP, type Clock, type Health, type Logger } from '#service';

interface WatchdogOptions {
  logger: Logger;
  recreateAfterMs: number;
  /** True while there is a reason not to fetch: work in hand, or Redis away. */
  busy: () => boolean;
  /** How many jobs wait in Redis. */
  waiting: () => Promise<number>;
  recreate: () => Promise<void>;
  clock?: Clock;
}

const HOPELESS_ATTEMPTS = 3;

/**
 * Finds a worker that stopped fetching: Redis is up, jobs wait, nothing is in hand, and yet it asks for none. Has it
 * recreated; when that did not help three times in a row, liveness says so, because then only a new process can.
 */
export class Watchdog extends Loop {
  private readonly clock: Clock;
  private lastFetch: number;
  private recreations = 0;

  constructor(private readonly options: WatchdogOptions) {
    const { logger, recreateAfterMs } = options;
    super({ name: 'worker watchdog', logger, idleMs: Math.max(50, recreateAfterMs / 4) });
    this.clock = options.clock ?? systemClock;
    this.lastFetch = this.clock.monotonic();
  }

  override start(): Promise<void> {
    this.lastFetch = this.clock.monotonic();
    return super.start();
  }

  /** The worker asked Redis for work. */
  fetched(): void {
    this.lastFetch = this.clock.monotonic();
    this.recreations = 0;
  }

  liveness(): Health {
    return this.recreations >= HOPELESS_ATTEMPTS
      ? down(
          `the worker fetches nothing although jobs wait, and recreating it ${this.recreations} times did not help`,
        )
      : UP;
  }

  override async tick(): Promise<void> {
    if (this.options.busy()) {
      this.lastFetch = this.clock.monotonic();
      return;
    }
    const quietMs = this.clock.monotonic() - this.lastFetch;
    if (quietMs < this.options.recreateAfterMs || (await this.options.waiting()) === 0) return;
    const recreations = this.recreations + 1;
    this.options.logger.error(
      { quiet_ms: Math.round(quietMs), recreations },
      'worker stopped fetching while jobs are waiting; recreating it',
    );
    await this.options.recreate();
    this.lastFetch = this.clock.monotonic();
    this.recreations = recreations;
  }
}
