import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import { Key } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { LockConfig } from '#locking';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

export const SCAN_MODES = ['all', 'files', 'folders'] as const;
export const HASH_ALGORITHMS = ['sha256', 'sha512', 'sha3-256'] as const;
export const HASH_SCOPES = ['none', 'candidates', 'all'] as const;

/** A scan runs to completion, so it does not wait for ever for what it needs. */
export class ProducerServiceConfig extends ServiceConfig {
  @Key({
    meaning: 'Milliseconds to wait for Redis and the database at start before giving up with exit code 69.',
    default: 60_000,
  })
  @IsInt()
  @Min(0)
  @Max(86_400_000)
  override STARTUP_TIMEOUT_MS!: number;
}

/** What to scan and how. */
export class ProducerConfig {
  @Key({ meaning: 'The directory to scan.' })
  @IsString()
  @MinLength(1)
  TARGET_DIRECTORY!: string;

  @Key({ meaning: 'Queue that receives a job for every new or changed file.', default: QUEUE.filesToBatch })
  @Matches(/^[^:]{1,200}$/, { message: '$property must be 1 to 200 characters without ":"' })
  PATH_DISCOVERY_QUEUE!: string;

  @Key({
    meaning:
      '`all` finds folders and files; `folders` only folders; `files` only files, in the folders already known.',
    default: 'all',
  })
  @IsIn(SCAN_MODES)
  SCAN_MODE!: (typeof SCAN_MODES)[number];

  @Key({
    meaning:
      'Which files the scan hashes: `none`, `candidates` (those that share their size with another) or `all`.',
    default: 'none',
  })
  @IsIn(HASH_SCOPES)
  HASH_SCOPE!: (typeof HASH_SCOPES)[number];

  @Key({ meaning: 'How they are hashed.', default: 'sha256' })
  @IsIn(HASH_ALGORITHMS)
  HASH_ALGORITHM!: (typeof HASH_ALGORITHMS)[number];

  @Key({ meaning: 'Folders and files worked on at the same time.', default: 32 })
  @IsInt()
  @Min(1)
  @Max(1_000)
  WORKERS!: number;

  @Key({
    meaning: 'Threads that list and hash. One a processor unless given.',
    kind: 'integer',
    optional: true,
  })
  @IsInt()
  @Min(1)
  @Max(256)
  THREADS?: number;

  @Key({
    meaning: 'Globs, with commas: only files that match one are carried. `*.ts` matches at any depth.',
    default: [],
  })
  @IsArray()
  @IsString({ each: true })
  @ArrayMaxSize(1_000)
  INCLUDE!: string[];

  @Key({ meaning: 'Globs, with commas: files and folders that match one are left out.', default: [] })
  @IsArray()
  @IsString({ each: true })
  @ArrayMaxSize(1_000)
  EXCLUDE!: string[];

  @Key({
    meaning: 'Files and folders, with commas, that are left out wherever they appear: own data, own output.',
    default: [],
  })
  @IsArray()
  @IsString({ each: true })
  @ArrayMaxSize(1_000)
  EXCLUDE_PATHS!: string[];

  @Key({ meaning: 'Bytes above which a file is recorded and skipped.', default: 1_073_741_824 })
  @IsInt()
  @Min(0)
  MAX_FILE_BYTES!: number;

  @Key({ meaning: 'Whether names that begin with a dot are carried.', default: true })
  @IsBoolean()
  HIDDEN!: boolean;

  @Key({
    meaning: 'Whether .gitignore files count, at every depth. .millraceignore files always do.',
    default: true,
  })
  @IsBoolean()
  GITIGNORE!: boolean;

  @Key({
    meaning:
      'Whether symbolic links are followed to what the scan does not reach otherwise. Never out of the directory.',
    default: false,
  })
  @IsBoolean()
  FOLLOW_SYMLINKS!: boolean;

  @Key({
    meaning:
      'Percent of the known files that may vanish between two scans; above it the scan marks nothing removed.',
    default: 50,
  })
  @IsInt()
  @Min(0)
  @Max(100)
  MAX_REMOVAL_RATIO!: number;

  @Key({ meaning: 'Marks vanished files removed however many they are.', default: false })
  @IsBoolean()
  ALLOW_MASS_REMOVAL!: boolean;

  @Key({
    meaning: 'Failed work items that a scan survives. With more it stops, exit code 1.',
    default: 0,
  })
  @IsInt()
  @Min(0)
  ERROR_THRESHOLD!: number;

  @Key({
    meaning:
      'Milliseconds after which an interrupted scan is begun anew instead of continued: what it has listed may have changed.',
    default: 3_600_000,
  })
  @IsInt()
  @Min(0)
  RESUME_WITHIN_MS!: number;

  @Key({ meaning: 'Shows a progress line, when standard error is a terminal.', default: true })
  @IsBoolean()
  PROGRESS!: boolean;

  @Key({ meaning: 'Milliseconds between progress lines in the log.', default: 10_000 })
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  PROGRESS_INTERVAL_MS!: number;
}

export const config = {
  service: ProducerServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  locks: LockConfig,
  producer: ProducerConfig,
};
