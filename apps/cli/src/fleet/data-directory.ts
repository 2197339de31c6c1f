import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';

/** What a running fleet tells other commands about itself. */
export interface RunningFleet {
  pid: number;
  redisUrl: string;
  databaseUrl: string;
  adminUrl?: string;
  /** A key to its dlq-admin, made for the life of this run. */
  adminKey?: string;
}

/** The folder of a laptop's state: SQLite, private Redis, logs, and who runs on it. One run at a time. */
export class DataDirectory {
  readonly path: string;
  private clean = true;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get databaseUrl(): string {
    return `sqlite:${join(this.path, 'millrace.db')}`;
  }

  get redisFolder(): string {
    return join(this.path, 'redis');
  }

  logFile(app: string): string {
    return join(this.path, 'logs', `${app}.log`);
  }

  async create(): Promise<void> {
    try {
      await mkdir(join(this.path, 'logs'), { recursive: true, mode: 0o700 });
      await mkdir(this.redisFolder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new CliError(
        `cannot use ${this.path} as data directory (${(error as Error).message}); choose another with --data`,
        CLI_EXIT.failed,
        error,
      );
    }
  }

  /** Takes the directory for this process. Returns whether the run before ended in order. */
  async claim(fleet: RunningFleet): Promise<{ cleanStart: boolean }> {
    const before = await this.running();
    if (before && before.pid !== process.pid && isAlive(before.pid))
      throw new CliError(
        `another millrace run (process ${before.pid}) uses ${this.path}; wait for it, or choose another with --data`,
      );
    await writeFile(this.ownerFile, JSON.stringify(fleet), { mode: 0o600 });
    return { cleanStart: before === undefined };
  }

  async release(): Promise<void> {
    if (this.clean) await rm(this.ownerFile, { force: true });
  }

  /** The next run shall see that this one did not end in order: a process of it may have died with leases in its hands. */
  leaveUnclean(): void {
    this.clean = false;
  }

  /** The fleet that owns the directory now, or owned it and did not end in order. */
  async running(): Promise<RunningFleet | undefined> {
    try {
      return JSON.parse(await readFile(this.ownerFile, 'utf8')) as RunningFleet;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR' || error instanceof SyntaxError)
        return undefined;
      throw error;
    }
  }

  async exists(): Promise<boolean> {
    return stat(this.path).then(
      () => true,
      () => false,
    );
  }

  private get ownerFile(): string {
    return join(this.path, 'run.json');
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
