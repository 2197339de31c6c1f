import type { SettledEvents } from '#outbox';
import { Loop, type Logger, type Service } from '#service';
import type { PublisherMetrics } from './publisher.metrics.js';

export interface PurgeOptions {
  events: SettledEvents;
  metrics: PublisherMetrics;
  logger: Logger;
  intervalMs: number;
  outboxRetentionMs: number;
  inboxRetentionMs: number;
}

const AT_ONCE = 500;

/** Removes settled events and inbox entries past their retention, a small transaction at a time. */
export class Purge implements Service {
  readonly name = 'purge';
  private readonly loop: Loop;

  constructor(private readonly options: PurgeOptions) {
    const { logger, intervalMs } = options;
    this.loop = new Loop({ name: this.name, logger, idleMs: intervalMs, tick: () => this.tick() });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** One small transaction of each kind. Returns whether there may be more at once. */
  async tick(): Promise<boolean> {
    const { events, metrics, outboxRetentionMs, inboxRetentionMs } = this.options;
    const purged = await events.purge(outboxRetentionMs, AT_ONCE);
    const entries = await events.purgeInbox(inboxRetentionMs, AT_ONCE);
    metrics.purgedEvents(purged);
    return purged === AT_ONCE || entries === AT_ONCE;
  }
}
