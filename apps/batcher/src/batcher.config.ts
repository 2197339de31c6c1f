import { Choice, CrossRule, Flag, Int, QueueName } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { EnvelopeConfig } from '#envelope';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';
import { DEFAULT_ENCODING, ENCODINGS, type EncodingName } from '#tokens';
import { PACKINGS, type Packing } from './packer.js';

@CrossRule<BatcherConfig>(
  ['RECOVERY_INTERVAL_MS', 'RECOVERY_AGE_MS'],
  'RECOVERY_AGE_MS must be at least RECOVERY_INTERVAL_MS',
  ({ RECOVERY_INTERVAL_MS, RECOVERY_AGE_MS }) => RECOVERY_AGE_MS >= RECOVERY_INTERVAL_MS,
)
export class BatcherConfig extends EnvelopeConfig {
  @QueueName('Queue of files to batch.', QUEUE.filesToBatch)
  PATH_DISCOVERY_QUEUE!: string;

  @QueueName('Queue that batches are published to.', QUEUE.fileAnalysis)
  ANALYSIS_QUEUE!: string;

  @Int(
    'Most tokens of a batch as it is written, headings included. Larger files are split.',
    100_000,
    [1_000, 1_000_000_000],
  )
  MAX_BATCH_TOKENS!: number;

  @Int('Most files of a batch.', 5_000, [1, 50_000])
  MAX_BATCH_FILES!: number;

  @Choice(
    'How files are put into batches: `best-fit` keeps several open, `sequential` closes one before the next.',
    'best-fit',
    PACKINGS,
  )
  PACKING!: Packing;

  @Int('Batches that `best-fit` keeps open.', 8, [1, 100])
  OPEN_BINS!: number;

  @Int('Milliseconds that a file may wait in an open batch while others arrive.', 5_000, [0, 600_000])
  BATCH_LINGER_MS!: number;

  @Int('Milliseconds without a new file after which open batches are closed.', 250, [0, 600_000])
  BATCH_QUIET_MS!: number;

  // Three batches of the smallest files: with less, batches are closed before they are full.
  @Int(
    'Files in the hands of this process at once: read, waiting in a batch, or committed.',
    6_000,
    [1, 100_000],
  )
  BATCHER_CONCURRENCY!: number;

  @Int('Threads that read and count. 0 takes one a processor.', 0, [0, 256])
  BATCHER_THREADS!: number;

  @Int('Megabytes of memory that one thread may use; a file that needs more fails.', 512, [64, 65_536])
  THREAD_MEMORY_MB!: number;

  @Choice('Encoding whose tokens are counted.', DEFAULT_ENCODING, ENCODINGS)
  ENCODING!: EncodingName;

  @Int('Bytes; files larger than this are skipped as `too-large`.', 1_073_741_824, [
    1,
    Number.MAX_SAFE_INTEGER,
  ])
  MAX_FILE_BYTES!: number;

  @Flag('Whether a file with the content of one that was batched before is skipped as `duplicate`.', false)
  SKIP_DUPLICATES!: boolean;

  @Int('Milliseconds between looks for files whose job was lost.', 2_000, [10, 3_600_000])
  RECOVERY_INTERVAL_MS!: number;

  @Int(
    'Milliseconds after which the job of a waiting file is looked for even though nothing seems lost.',
    60_000,
    [10, 86_400_000],
  )
  RECOVERY_AGE_MS!: number;

  @Int('Milliseconds that a file is claimed while its job is looked for.', 30_000, [100, 3_600_000])
  CLAIM_LEASE_MS!: number;

  @Int('Files whose jobs are looked for at once.', 1_000, [1, 10_000])
  MAX_CLAIMS!: number;
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  batcher: BatcherConfig,
};
