import { CrossRule, DatabaseUrl, Int, isQueueName, List, OPTIONAL, QueueName, QUEUE_NAME } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

const DAY_MS = 86_400_000;

@CrossRule<PublisherConfig>(
  ['OUTBOX_RETENTION_MS', 'INBOX_RETENTION_MS'],
  'INBOX_RETENTION_MS must be at least OUTBOX_RETENTION_MS',
  ({ OUTBOX_RETENTION_MS, INBOX_RETENTION_MS }) => INBOX_RETENTION_MS >= OUTBOX_RETENTION_MS,
)
@CrossRule<PublisherConfig>(
  ['EVENT_BACKOFF_MS', 'EVENT_MAX_BACKOFF_MS'],
  'EVENT_MAX_BACKOFF_MS must be at least EVENT_BACKOFF_MS',
  ({ EVENT_BACKOFF_MS, EVENT_MAX_BACKOFF_MS }) => EVENT_MAX_BACKOFF_MS >= EVENT_BACKOFF_MS,
)
export class PublisherConfig {
  @Int(
    'Longest wait in milliseconds between looks at an idle outbox. After work it looks again at once.',
    1_000,
    [1, 3_600_000],
  )
  POLLING_INTERVAL_MS!: number;

  @DatabaseUrl(
    'Where PostgreSQL itself is, for LISTEN, when DATABASE_URL is that of a pooler in transaction mode. Unless given: DATABASE_URL, and polling where no notice comes through.',
    OPTIONAL,
  )
  LISTEN_DATABASE_URL?: string;

  @Int('Events claimed and published together at most.', 1_000, [1, 10_000])
  BATCH_SIZE!: number;

  @Int(
    'Milliseconds for which claimed events are one publisher’s; a dead one’s are then published by others.',
    10_000,
    [100, 3_600_000],
  )
  CLAIM_LEASE_MS!: number;

  @Int('Publications that the queue may refuse before an event is given up (DEAD).', 10, [1, 1_000])
  EVENT_ATTEMPTS!: number;

  @Int('First wait in milliseconds after the queue refused an event; it doubles.', 1_000, [1, 3_600_000])
  EVENT_BACKOFF_MS!: number;

  @Int('Longest wait in milliseconds after the queue refused an event.', 60_000, [1, DAY_MS])
  EVENT_MAX_BACKOFF_MS!: number;

  @QueueName('Queue of batches to analyse.', QUEUE.fileAnalysis)
  ANALYSIS_QUEUE!: string;

  @List(
    'Queues whose consumers record each event in the inbox; what Redis loses of them is published again. ANALYSIS_QUEUE unless given.',
    OPTIONAL,
    { each: isQueueName, must: QUEUE_NAME },
  )
  CONFIRMED_QUEUES?: string[];

  @Int('Milliseconds after which a published event that no inbox has is looked for in its queue.', 30_000, [
    100,
    DAY_MS,
  ])
  CONFIRM_TIMEOUT_MS!: number;

  @Int(
    'Milliseconds between looks at published events that no inbox has; also how soon a lost Redis is noticed.',
    2_000,
    [10, 3_600_000],
  )
  CONFIRM_INTERVAL_MS!: number;

  @Int('Milliseconds that published and confirmed events are kept.', 3 * DAY_MS, [0, 3_650 * DAY_MS])
  OUTBOX_RETENTION_MS!: number;

  @Int(
    'Milliseconds that inbox entries are kept; a job delivered again later than that has its effect again.',
    30 * DAY_MS,
    [0, 3_650 * DAY_MS],
  )
  INBOX_RETENTION_MS!: number;

  @Int('Milliseconds between purges of what is past its retention.', 60_000, [10, DAY_MS])
  PURGE_INTERVAL_MS!: number;
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  publisher: PublisherConfig,
};
