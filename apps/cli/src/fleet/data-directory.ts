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

const OWNER = 'run.json';
const CARD = 'pipeline.json';

/** The folder of a laptop's state for one pipeline: SQLite, logs, and who runs on it. One run at a time. */
export class DataDirectory {
  readonly path: string;
  private clean = true;
  private lock: FolderLock | undefined;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get databaseUrl(): string {
    return `sqlite:${this.file('millrace.db')}`;
  }

  /** Whether something was ever run here. */
  get isUsed(): boolean {
    return existsSync(this.file('millrace.db'));
  }

  logFile(app: string): string {
    return this.file(`logs/${app}.log`);
  }

  async create(): Promise<void> {
    try {
      await mkdir(this.file('logs'), { recursive: true, mode: 0o700 });
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
    this.lock ??= await FolderLock.take(this.file('run.lock'));
    const before = await this.read<RunningFleet>(OWNER);
    if (this.lock) return { cleanStart: before === undefined };
    const who = before ? ` (process ${before.pid})` : '';
    throw new CliError(
      `another millrace run${who} uses ${this.path}; wait for it, or choose another with --data`,
    );
  }

  /** Tells other commands what runs here. */
  async tell(fleet: RunningFleet): Promise<void> {
    await writeFile(this.file(OWNER), JSON.stringify(fleet), { mode: 0o600 });
  }

  async release(): Promise<void> {
    if (this.clean) await rm(this.file(OWNER), { force: true });
    await this.lock?.release();
    this.lock = undefined;
  }

  /** The next run shall see that this one did not end in order: a process of it may have died with leases in its hands. */
  leaveUnclean(): void {
    this.clean = false;
  }

  /** The fleet that runs on the directory now. */
  async running(): Promise<RunningFleet | undefined> {
    const held = await FolderLock.isHeld(this.file('run.lock')).catch(() => false);
    return held ? this.read<RunningFleet>(OWNER) : undefined;
  }

  /** Forgets everything but the logs. */
  async wipe(): Promise<void> {
    for (const suffix of ['', '-wal', '-shm']) await rm(this.file(`millrace.db${suffix}`), { force: true });
  }

  card(): Promise<PipelineCard | undefined> {
    return this.read<PipelineCard>(CARD);
  }

  async writeCard(card: PipelineCard): Promise<void> {
    await writeFile(this.file(CARD), JSON.stringify(card), { mode: 0o600 });
  }

  /** When the pipeline was last worked on, in milliseconds. */
  async usedAt(): Promise<number> {
    const found = await stat(this.file(CARD)).catch(() => stat(this.file('millrace.db')));
    return found.mtimeMs;
  }

  async touch(): Promise<void> {
    await utimes(this.file(CARD), new Date(), new Date()).catch(() => {});
  }

  private file(name: string): string {
    return join(this.path, name);
  }

  private async read<T>(name: string): Promise<T | undefined> {
    try {
      return JSON.parse(await readFile(this.file(name), 'utf8')) as T;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR' || error instanceof SyntaxError)
        return undefined;
      throw error;
    }
  }
}
