import { IsInt, Matches, Max, Min } from 'class-validator';
import { CrossRule, Key } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

const DAY_MS = 86_400_000;
const QUEUE_NAME = /^[\w{}.-]{1,100}$/;

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
  @Key({
    meaning:
      'Longest wait in milliseconds between looks at an idle outbox. After work it looks again at once.',
    default: 1_000,
  })
  @IsInt()
  @Min(1)
  @Max(3_600_000)
  POLLING_INTERVAL_MS!: number;

  @Key({ meaning: 'Events claimed and published together at most.', default: 1_000 })
  @IsInt()
  @Min(1)
  @Max(10_000)
  BATCH_SIZE!: number;

  @Key({
    meaning:
      'Milliseconds for which claimed events are one publisher’s; a dead one’s are then published by others.',
    default: 10_000,
  })
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  CLAIM_LEASE_MS!: number;

  @Key({ meaning: 'Publications that the queue may refuse before an event is given up (DEAD).', default: 10 })
  @IsInt()
  @Min(1)
  @Max(1_000)
  EVENT_ATTEMPTS!: number;

  @Key({
    meaning: 'First wait in milliseconds after the queue refused an event; it doubles.',
    default: 1_000,
  })
  @IsInt()
  @Min(1)
  @Max(3_600_000)
  EVENT_BACKOFF_MS!: number;

  @Key({ meaning: 'Longest wait in milliseconds after the queue refused an event.', default: 60_000 })
  @IsInt()
  @Min(1)
  @Max(DAY_MS)
  EVENT_MAX_BACKOFF_MS!: number;

  @Key({ meaning: 'Queue of batches to analyse.', default: QUEUE.fileAnalysis })
  @Matches(QUEUE_NAME)
  ANALYSIS_QUEUE!: string;

  @Key({
    meaning:
      'Queues whose consumers record each event in the inbox; what Redis loses of them is published again. ANALYSIS_QUEUE unless given.',
    kind: 'list',
    optional: true,
  })
  @Matches(QUEUE_NAME, { each: true })
  CONFIRMED_QUEUES?: string[];

  @Key({
    meaning: 'Milliseconds after which a published event that no inbox has is looked for in its queue.',
    default: 30_000,
  })
  @IsInt()
  @Min(100)
  @Max(DAY_MS)
  CONFIRM_TIMEOUT_MS!: number;

  @Key({
    meaning:
      'Milliseconds between looks at published events that no inbox has; also how soon a lost Redis is noticed.',
    default: 2_000,
  })
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  CONFIRM_INTERVAL_MS!: number;

  @Key({ meaning: 'Milliseconds that published and confirmed events are kept.', default: 3 * DAY_MS })
  @IsInt()
  @Min(0)
  @Max(3_650 * DAY_MS)
  OUTBOX_RETENTION_MS!: number;

  @Key({
    meaning:
      'Milliseconds that inbox entries are kept; a job delivered again later than that has its effect again.',
    default: 30 * DAY_MS,
  })
  @IsInt()
  @Min(0)
  @Max(3_650 * DAY_MS)
  INBOX_RETENTION_MS!: number;

  @Key({ meaning: 'Milliseconds between purges of what is past its retention.', default: 60_000 })
  @IsInt()
  @Min(10)
  @Max(DAY_MS)
  PURGE_INTERVAL_MS!: number;
}

export function confirmedQueues(
  config: Pick<PublisherConfig, 'ANALYSIS_QUEUE' | 'CONFIRMED_QUEUES'>,
): string[] {
  return config.CONFIRMED_QUEUES ?? [config.ANALYSIS_QUEUE];
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  publisher: PublisherConfig,
};
