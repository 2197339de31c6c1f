import { down, Loop, systemClock, UP, type Clock, type Health } from '#service';
import type { QueueWorker } from './queue-worker.js';

const HOPELESS_ATTEMPTS = 3;

/**
 * Finds a worker that stopped fetching: Redis is up, jobs wait, nothing is in hand, and yet it asks for none. Has it
 * recreated; when that did not help three times in a row, liveness says so, because then only a new process can.
 */
export class Watchdog extends Loop {
  private lastFetch: number;
  private recreations = 0;

  constructor(
    private readonly worker: Pick<QueueWorker, 'queue' | 'active' | 'logger' | 'recreate'>,
    private readonly clock: Clock = systemClock,
  ) {
    const { recreateAfterMs } = worker.queue.owner.settings;
    super({ name: 'worker watchdog', logger: worker.logger, idleMs: Math.max(50, recreateAfterMs / 4) });
    this.lastFetch = clock.monotonic();
  }

  override start(): Promise<void> {
    this.lastFetch = this.clock.monotonic();
    return super.start();
  }

  /** Redis answered when the worker asked for a job (whether or not there was one). */
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
    const { gate, settings } = this.worker.queue.owner;
    // Work in hand, or Redis away: a reason not to fetch.
    if (gate.state !== 'closed' || this.worker.active > 0) this.lastFetch = this.clock.monotonic();
    const quietMs = this.clock.monotonic() - this.lastFetch;
    if (quietMs < settings.recreateAfterMs || !(await this.hasWork())) return;
    const recreations = this.recreations + 1;
    this.worker.logger.error(
      { quiet_ms: Math.round(quietMs), recreations },
      'worker stopped fetching while jobs are waiting; recreating it',
    );
    await this.worker.recreate();
    this.lastFetch = this.clock.monotonic();
    this.recreations = recreations;
  }

  private async hasWork(): Promise<boolean> {
    const { queue } = this.worker;
    return !(await queue.isPaused()) && (await queue.counts()).waiting > 0;
  }
}
