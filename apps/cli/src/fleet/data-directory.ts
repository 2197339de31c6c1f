import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Destination } from '#contracts';
import { errorCode } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { FolderLock } from './folder-lock.js';

/** What a running fleet tells other commands about itself. */
interface RunningFleet {
  pid: number;
  redisUrl: string;
  databaseUrl: string;
  adminUrl?: string;
  /** A key to its dlq-admin, made for the life of this run. */
  adminKey?: string;
}

/** What the folder says about its pipeline, so that commands need not open every database to find theirs. */
interface PipelineCard {
  id: string;
  destination: Destination;
}

/** The folder of a laptop's state for one pipeline: SQLite, logs, and who runs on it. One run at a time. */
export class DataDirectory {
  readonly path: string;
  private readonly databaseFile: string;
  private readonly ownerFile: string;
  private readonly lockFile: string;
  private readonly cardFile: string;
  private clean = true;
  private lock: FolderLock | undefined;

  constructor(path: string) {
    this.path = resolve(path);
    this.databaseFile = join(this.path, 'millrace.db');
    this.ownerFile = join(this.path, 'run.json');
    this.lockFile = join(this.path, 'run.lock');
    this.cardFile = join(this.path, 'pipeline.json');
  }

  get databaseUrl(): string {
    return `sqlite:${this.databaseFile}`;
  }

  /** Whether something was ever run here. */
  get isUsed(): boolean {
    return existsSync(this.databaseFile);
  }

  logFile(app: string): string {
    return join(this.path, 'logs', `${app}.log`);
  }

  async create(): Promise<void> {
    try {
      await mkdir(join(this.path, 'logs'), { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new CliError(
        `cannot use ${this.path} as data directory (${(error as Error).message}); choose another with --data`,
        CLI_EXIT.failed,
        error,
      );
    }
  }

  /** Takes the directory for this process. Returns whether the run before ended in order. */
  async claim(): Promise<{ cleanStart: boolean }> {
    this.lock ??= await FolderLock.take(this.lockFile);
    const before = await this.read<RunningFleet>(this.ownerFile);
    if (this.lock) return { cleanStart: before === undefined };
    const who = before ? ` (process ${before.pid})` : '';
    throw new CliError(
      `another millrace run${who} uses ${this.path}; wait for it, or choose another with --data`,
    );
  }

  /** Tells other commands what runs here. */
  async tell(fleet: RunningFleet): Promise<void> {
    await writeFile(this.ownerFile, JSON.stringify(fleet), { mode: 0o600 });
  }

  async release(): Promise<void> {
    if (this.clean) await rm(this.ownerFile, { force: true });
    await this.lock?.release();
    this.lock = undefined;
  }

  /** The next run shall see that this one did not end in order: a process of it may have died with leases in its hands. */
  leaveUnclean(): void {
    this.clean = false;
  }

  /** The fleet that runs on the directory now. */
  async running(): Promise<RunningFleet | undefined> {
    const held = await FolderLock.isHeld(this.lockFile).catch(() => false);
    return held ? this.read<RunningFleet>(this.ownerFile) : undefined;
  }

  /** Forgets everything but the logs. */
  async wipe(): Promise<void> {
    for (const suffix of ['', '-wal', '-shm']) await rm(`${this.databaseFile}${suffix}`, { force: true });
  }

  card(): Promise<PipelineCard | undefined> {
    return this.read<PipelineCard>(this.cardFile);
  }

  async writeCard(card: PipelineCard): Promise<void> {
    await writeFile(this.cardFile, JSON.stringify(card), { mode: 0o600 });
  }

  /** When the pipeline was last worked on, in milliseconds. */
  async usedAt(): Promise<number> {
    const found = await stat(this.cardFile).catch(() => stat(this.databaseFile));
    return found.mtimeMs;
  }

  async touch(): Promise<void> {
    await utimes(this.cardFile, new Date(), new Date()).catch(() => {});
  }

  private async read<T>(path: string): Promise<T | undefined> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as T;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR' || error instanceof SyntaxError)
        return undefined;
      throw error;
    }
  }
}
