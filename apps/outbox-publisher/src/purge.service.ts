import { Inject, Injectable } from '@nestjs/common';
import { Database } from '#database';
import { SettledEvents } from '#outbox';
import { LOGGER, Loop, type Logger } from '#service';
import { PublisherConfig } from './outbox-publisher.config.js';
import { PublisherMetrics } from './publisher.metrics.js';

const AT_ONCE = 500;

/** Removes settled events and inbox entries past their retention, a small transaction at a time. */
@Injectable()
export class Purge extends Loop {
  private readonly events: SettledEvents;

  constructor(
    private readonly config: PublisherConfig,
    database: Database,
    private readonly metrics: PublisherMetrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    super({ name: 'purge', logger, idleMs: config.PURGE_INTERVAL_MS });
    this.events = new SettledEvents(database);
  }

  /** One small transaction of each kind. Returns whether there may be more at once. */
  override async tick(): Promise<boolean> {
    const { OUTBOX_RETENTION_MS, INBOX_RETENTION_MS } = this.config;
    const purged = await this.events.purge(OUTBOX_RETENTION_MS, AT_ONCE);
    const entries = await this.events.purgeInbox(INBOX_RETENTION_MS, AT_ONCE);
    this.metrics.purged.inc(purged);
    return purged === AT_ONCE || entries === AT_ONCE;
  }
}
