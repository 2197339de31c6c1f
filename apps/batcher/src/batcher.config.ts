import { IsBoolean, IsIn, IsInt, Matches, Max, Min } from 'class-validator';
import { CrossRule, Key } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';
import { DEFAULT_ENCODING, ENCODINGS, type EncodingName } from '#tokens';
import { PACKINGS, type Packing } from './packing/packer.js';

@CrossRule<BatcherConfig>(
  ['RECOVERY_INTERVAL_MS', 'RECOVERY_AGE_MS'],
  'RECOVERY_AGE_MS must be at least RECOVERY_INTERVAL_MS',
  ({ RECOVERY_INTERVAL_MS, RECOVERY_AGE_MS }) => RECOVERY_AGE_MS >= RECOVERY_INTERVAL_MS,
)
export class BatcherConfig {
  @Key({ meaning: 'Queue of files to batch.', default: QUEUE.filesToBatch })
  @Matches(/^[^:]{1,200}$/)
  PATH_DISCOVERY_QUEUE!: string;

  @Key({ meaning: 'Queue that batches are published to.', default: QUEUE.fileAnalysis })
  @Matches(/^[^:]{1,200}$/)
  ANALYSIS_QUEUE!: string;

  @Key({
    meaning: 'Most tokens of a batch as it is written, headings included. Larger files are split.',
    default: 100_000,
  })
  @IsInt()
  @Min(1_000)
  @Max(1_000_000_000)
  MAX_BATCH_TOKENS!: number;

  @Key({ meaning: 'Most files of a batch.', default: 5_000 })
  @IsInt()
  @Min(1)
  @Max(50_000)
  MAX_BATCH_FILES!: number;

  @Key({
    meaning:
      'How files are put into batches: `best-fit` keeps several open, `sequential` closes one before the next.',
    default: 'best-fit',
  })
  @IsIn(PACKINGS)
  PACKING!: Packing;

  @Key({ meaning: 'Batches that `best-fit` keeps open.', default: 8 })
  @IsInt()
  @Min(1)
  @Max(100)
  OPEN_BINS!: number;

  @Key({ meaning: 'Milliseconds that a file may wait in an open batch while others arrive.', default: 5_000 })
  @IsInt()
  @Min(0)
  @Max(600_000)
  BATCH_LINGER_MS!: number;

  @Key({
    meaning: 'Milliseconds without a new file after which open batches are closed.',
    default: 250,
  })
  @IsInt()
  @Min(0)
  @Max(600_000)
  BATCH_QUIET_MS!: number;

  @Key({
    meaning: 'Files in the hands of this process at once: read, waiting in a batch, or committed.',
    default: 2_000,
  })
  @IsInt()
  @Min(1)
  @Max(10_000)
  BATCHER_CONCURRENCY!: number;

  @Key({ meaning: 'Threads that read and count. 0 takes one a processor.', default: 0 })
  @IsInt()
  @Min(0)
  @Max(256)
  BATCHER_THREADS!: number;

  @Key({
    meaning: 'Megabytes of memory that one thread may use; a file that needs more fails.',
    default: 512,
  })
  @IsInt()
  @Min(64)
  @Max(65_536)
  THREAD_MEMORY_MB!: number;

  @Key({ meaning: 'Encoding whose tokens are counted.', default: DEFAULT_ENCODING })
  @IsIn(ENCODINGS)
  ENCODING!: EncodingName;

  @Key({ meaning: 'Bytes; files larger than this are skipped as `too-large`.', default: 1_073_741_824 })
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  MAX_FILE_BYTES!: number;

  @Key({
    meaning: 'Whether a file with the content of one that was batched before is skipped as `duplicate`.',
    default: false,
  })
  @IsBoolean()
  SKIP_DUPLICATES!: boolean;

  @Key({ meaning: 'Milliseconds between looks for files whose job was lost.', default: 2_000 })
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  RECOVERY_INTERVAL_MS!: number;

  @Key({
    meaning:
      'Milliseconds after which the job of a waiting file is looked for even though nothing seems lost.',
    default: 60_000,
  })
  @IsInt()
  @Min(10)
  @Max(86_400_000)
  RECOVERY_AGE_MS!: number;

  @Key({
    meaning: 'Milliseconds that a file is claimed while its job is looked for.',
    default: 30_000,
  })
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  CLAIM_LEASE_MS!: number;

  @Key({ meaning: 'Files whose jobs are looked for at once.', default: 1_000 })
  @IsInt()
  @Min(1)
  @Max(10_000)
  MAX_CLAIMS!: number;
}

export const config = {
  service: ServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  batcher: BatcherConfig,
};
