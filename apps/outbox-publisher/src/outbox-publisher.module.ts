import { Module, type FactoryProvider } from '@nestjs/common';
import { Database, DatabaseConfig } from '#database';
import { createWakeUp, EventClaims, OutboxStatistics, SettledEvents, UnconfirmedEvents } from '#outbox';
import { QueueManager } from '#queue-manager';
import { CLOCK, IDENTITY, LOGGER, Metrics } from '#service';
import type { Clock, Identity, Logger, Service } from '#service';
import { Confirmation } from './confirmation.service.js';
import { EventBroker } from './event-broker.js';
import { confirmedQueues, PublisherConfig } from './outbox-publisher.config.js';
import { PublisherMetrics } from './publisher.metrics.js';
import { Publisher } from './publisher.service.js';
import { Purge } from './purge.service.js';

export const WAKE_UP = Symbol('wake-up');

const metrics: FactoryProvider = {
  provide: PublisherMetrics,
  inject: [Metrics, Database, CLOCK],
  useFactory: (metrics: Metrics, database: Database, clock: Clock) =>
    new PublisherMetrics(metrics, new OutboxStatistics(database), clock),
};

const publisher: FactoryProvider = {
  provide: Publisher,
  inject: [PublisherConfig, Database, QueueManager, PublisherMetrics, LOGGER, CLOCK, IDENTITY],
  useFactory: (
    config: PublisherConfig,
    database: Database,
    queues: QueueManager,
    metrics: PublisherMetrics,
    logger: Logger,
    clock: Clock,
    { workerId }: Identity,
  ) =>
    new Publisher({
      claims: new EventClaims(database),
      broker: new EventBroker(queues),
      metrics,
      logger,
      clock,
      workerId,
      batchSize: config.BATCH_SIZE,
      pollingIntervalMs: config.POLLING_INTERVAL_MS,
      leaseMs: config.CLAIM_LEASE_MS,
      refusals: {
        attempts: config.EVENT_ATTEMPTS,
        baseMs: config.EVENT_BACKOFF_MS,
        maxMs: config.EVENT_MAX_BACKOFF_MS,
      },
      confirmedQueues: confirmedQueues(config),
    }),
};

const confirmation: FactoryProvider = {
  provide: Confirmation,
  inject: [PublisherConfig, Database, QueueManager, PublisherMetrics, LOGGER, Publisher],
  useFactory: (
    config: PublisherConfig,
    database: Database,
    queues: QueueManager,
    metrics: PublisherMetrics,
    logger: Logger,
    publisher: Publisher,
  ) =>
    new Confirmation({
      events: new UnconfirmedEvents(database),
      queues,
      metrics,
      logger,
      timeoutMs: config.CONFIRM_TIMEOUT_MS,
      intervalMs: config.CONFIRM_INTERVAL_MS,
      onOffered: () => publisher.wake(),
    }),
};

const purge: FactoryProvider = {
  provide: Purge,
  inject: [PublisherConfig, Database, PublisherMetrics, LOGGER],
  useFactory: (config: PublisherConfig, database: Database, metrics: PublisherMetrics, logger: Logger) =>
    new Purge({
      events: new SettledEvents(database),
      metrics,
      logger,
      intervalMs: config.PURGE_INTERVAL_MS,
      outboxRetentionMs: config.OUTBOX_RETENTION_MS,
      inboxRetentionMs: config.INBOX_RETENTION_MS,
    }),
};

const wakeUp: FactoryProvider = {
  provide: WAKE_UP,
  inject: [PublisherConfig, DatabaseConfig, LOGGER, Publisher],
  useFactory: (
    { LISTEN_DATABASE_URL }: PublisherConfig,
    { DATABASE_URL }: DatabaseConfig,
    logger: Logger,
    publisher: Publisher,
  ): Service =>
    createWakeUp({ url: LISTEN_DATABASE_URL ?? DATABASE_URL, logger, onWake: () => publisher.wake() }),
};

/** What the app starts besides the stores, in this order. */
export const PUBLISHER_PARTS = [Purge, Confirmation, Publisher, WAKE_UP];

@Module({ providers: [metrics, publisher, confirmation, purge, wakeUp] })
export class OutboxPublisherModule {}
