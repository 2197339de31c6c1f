import { EventClaims } from '#outbox';
import type { Database } from '#database';
import type { QueueManager } from '#queue-manager';
import { Metrics, silentLogger, systemClock } from '#service';
import { PublisherConfig } from './outbox-publisher.config.js';
import { PublisherMetrics } from './publisher.metrics.js';
import { Publisher } from './publisher.service.js';

/** A publisher without a container, quick to poll and to give up. */
export function createPublisher(
  database: Database,
  queues: QueueManager,
  over: Partial<PublisherConfig> = {},
  { claims = new EventClaims(database), metrics = new Metrics(), logger = silentLogger } = {},
): Publisher {
  const figures = new PublisherMetrics(metrics, database, systemClock);
  const identity = { app: 'publisher', workerId: 'w' };
  return new Publisher(configOf(over), claims, queues, figures, logger, systemClock, identity);
}

export function configOf(over: Partial<PublisherConfig>): PublisherConfig {
  return Object.assign(new PublisherConfig(), {
    POLLING_INTERVAL_MS: 20,
    BATCH_SIZE: 10,
    CLAIM_LEASE_MS: 60_000,
    EVENT_ATTEMPTS: 2,
    EVENT_BACKOFF_MS: 1,
    EVENT_MAX_BACKOFF_MS: 1,
    CONFIRMED_QUEUES: [],
    ...over,
  });
}
