import { Inject, Injectable } from '@nestjs/common';
import { Database } from '#database';
import { purgeInbox, purgeOutbox } from '#outbox';
import { LOGGER, Loop, type Logger } from '#service';
import { PublisherConfig } from './outbox-publisher.config.js';
import { PublisherMetrics } from './publisher.metrics.js';

const AT_ONCE = 500;

/** Removes settled events and inbox entries past their retention, a small transaction at a time. */
@Injectable()
export class Purge extends Loop {
  constructor(
    private readonly config: PublisherConfig,
    private readonly database: Database,
    private readonly metrics: PublisherMetrics,
    @Inject(LOGGER) logger: Logger,
  ) {
    super({ name: 'purge', logger, idleMs: config.PURGE_INTERVAL_MS });
  }

  /** One small transaction of each kind. Returns whether there may be more at once. */
  override async tick(): Promise<boolean> {
    const { OUTBOX_RETENTION_MS, INBOX_RETENTION_MS } = this.config;
    const purged = await purgeOutbox(this.database, OUTBOX_RETENTION_MS, AT_ONCE);
    const entries = await purgeInbox(this.database, INBOX_RETENTION_MS, AT_ONCE);
    this.metrics.purged.inc(purged);
    return purged === AT_ONCE || entries === AT_ONCE;
  }
}
