import { Choice, Flag, Int, List, OPTIONAL, QueueName, REQUIRED, Text } from '#config';
import { MAX_FILES_PER_JOB, QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { LockConfig } from '#locking';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';

const SCAN_MODES = ['all', 'files', 'folders'] as const;
const HASH_ALGORITHMS = ['sha256', 'sha512', 'sha3-256'] as const;
const HASH_SCOPES = ['none', 'candidates', 'all'] as const;

/** A scan runs to completion, so it does not wait for ever for what it needs. */
class ProducerServiceConfig extends ServiceConfig {
  @Int(
    'Milliseconds to wait for Redis and the database at start before giving up with exit code 69.',
    60_000,
    [0, 86_400_000],
  )
  override STARTUP_TIMEOUT_MS!: number;
}

/** What to scan and how. */
export class ProducerConfig {
  @Text('The directory to scan.', REQUIRED, { matches: /./, must: 'a path' })
  TARGET_DIRECTORY!: string;

  @QueueName('Queue that receives the jobs of new and changed files.', QUEUE.filesToBatch)
  PATH_DISCOVERY_QUEUE!: string;

  @Int(
    'Files that share a job, at most, and 1 MB of content; larger files have one alone. 1 gives every file its own.',
    200,
    [1, MAX_FILES_PER_JOB],
  )
  FILES_PER_JOB!: number;

  @Choice(
    '`all` finds folders and files; `folders` only folders; `files` only files, in the folders already known.',
    'all',
    SCAN_MODES,
  )
  SCAN_MODE!: (typeof SCAN_MODES)[number];

  @Choice(
    'Which files the scan hashes: `none`, `candidates` (those that share their size with another) or `all`.',
    'none',
    HASH_SCOPES,
  )
  HASH_SCOPE!: (typeof HASH_SCOPES)[number];

  @Choice('How they are hashed.', 'sha256', HASH_ALGORITHMS)
  HASH_ALGORITHM!: (typeof HASH_ALGORITHMS)[number];

  @Int('Folders and files worked on at the same time.', 32, [1, 1_000])
  WORKERS!: number;

  @Int('Threads that list and hash. One a processor unless given.', OPTIONAL, [1, 256])
  THREADS?: number;

  @List('Globs, with commas: only files that match one are carried. `*.ts` matches at any depth.', [])
  INCLUDE!: string[];

  @List('Globs, with commas: files and folders that match one are left out.', [])
  EXCLUDE!: string[];

  @List('Files and folders, with commas, that are left out wherever they appear: own data, own output.', [])
  EXCLUDE_PATHS!: string[];

  @Int('Bytes above which a file is recorded and skipped.', 1_073_741_824, [0])
  MAX_FILE_BYTES!: number;

  @Flag('Whether names that begin with a dot are carried.', true)
  HIDDEN!: boolean;

  @Flag('Whether .gitignore files count, at every depth. .millraceignore files always do.', true)
  GITIGNORE!: boolean;

  @Flag(
    'Whether symbolic links are followed to what the scan does not reach otherwise. Never out of the directory.',
    false,
  )
  FOLLOW_SYMLINKS!: boolean;

  @Int(
    'Percent of the known files that may vanish between two scans; above it the scan marks nothing removed.',
    50,
    [0, 100],
  )
  MAX_REMOVAL_PERCENT!: number;

  @Flag('Marks vanished files removed however many they are.', false)
  ALLOW_MASS_REMOVAL!: boolean;

  @Int('Failed work items that a scan survives. With more it stops, exit code 1.', 0, [0])
  ERROR_THRESHOLD!: number;

  @Int(
    'Milliseconds after which an interrupted scan is begun anew instead of continued: what it has listed may have changed.',
    3_600_000,
    [0],
  )
  RESUME_WITHIN_MS!: number;

  @Flag('Shows a progress line, when standard error is a terminal.', true)
  PROGRESS!: boolean;

  @Int('Milliseconds between progress lines in the log.', 10_000, [100, 3_600_000])
  PROGRESS_INTERVAL_MS!: number;
}

export const config = {
  service: ProducerServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  locks: LockConfig,
  producer: ProducerConfig,
};
