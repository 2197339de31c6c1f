import { Module, type FactoryProvider } from '@nestjs/common';
import { DatabaseConfig, parseDatabaseUrl } from '#database';
import { EventClaims, PostgresWakeUp, SqliteWakeUp } from '#outbox';
import { LOGGER, type Logger, type Service } from '#service';
import { Confirmation } from './confirmation.service.js';
import { PublisherConfig } from './outbox-publisher.config.js';
import { PublisherMetrics } from './publisher.metrics.js';
import { Publisher } from './publisher.service.js';
import { Purge } from './purge.service.js';

const WAKE_UP = Symbol('wake-up');

/** Tells the publisher of commits without polling: PostgreSQL notifies, SQLite's log is watched. Sometimes for nothing. */
const wakeUp: FactoryProvider = {
  provide: WAKE_UP,
  inject: [PublisherConfig, DatabaseConfig, LOGGER, Publisher],
  useFactory: (
    { LISTEN_DATABASE_URL }: PublisherConfig,
    { DATABASE_URL }: DatabaseConfig,
    logger: Logger,
    publisher: Publisher,
  ): Service => {
    const address = parseDatabaseUrl(LISTEN_DATABASE_URL ?? DATABASE_URL);
    const wake = (): void => publisher.wake();
    return address.dialect === 'sqlite'
      ? new SqliteWakeUp(address.path, wake, logger)
      : new PostgresWakeUp(address.url, wake, logger);
  },
};

/** What the app starts besides the stores, in this order. */
export const PUBLISHER_PARTS = [Purge, Confirmation, Publisher, WAKE_UP];

@Module({ providers: [EventClaims, PublisherMetrics, Publisher, Confirmation, Purge, wakeUp] })
export class OutboxPublisherModule {}
