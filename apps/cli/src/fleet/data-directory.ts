import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Database } from 'sqlite3';
import { shownDestination, type Destination } from '#contracts';
import { errorCode } from '#service';
import { CLI_EXIT, CliError, failing } from '../cli.errors.js';

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

/** Pipelines are kept apart here, unless --data names a folder for one. */
export const DATA_ROOT = '.millrace';
const OWNER = 'run.json';
const LOCK = 'run.lock';
const CARD = 'pipeline.json';

/** The folder of a laptop's state for one pipeline: SQLite, logs, and who runs on it. One run at a time. */
export class DataDirectory {
  readonly path: string;
  private clean = true;
  private unlock: (() => Promise<void>) | undefined;

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
    const unusable = (why: string): string =>
      `cannot use ${this.path} as data directory (${why}); choose another with --data`;
    const made = mkdir(this.file('logs'), { recursive: true, mode: 0o700 });
    await made.catch(failing(CLI_EXIT.failed, unusable));
  }

  /** Takes the directory for this process. Returns whether the run before ended in order. */
  async claim(): Promise<{ cleanStart: boolean }> {
    // Others only look whether it is taken, for an instant.
    this.unlock ??= await lock(this.file(LOCK), 500);
    const before = await this.read<RunningFleet>(OWNER);
    if (this.unlock) return { cleanStart: before === undefined };
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
    await this.unlock?.();
    this.unlock = undefined;
  }

  /** The next run shall see that this one did not end in order: a process of it may have died with leases in its hands. */
  leaveUnclean(): void {
    this.clean = false;
  }

  /** The fleet that runs on the directory now. */
  async running(): Promise<RunningFleet | undefined> {
    if (!existsSync(this.file(LOCK))) return undefined;
    // What cannot be opened, nobody can have taken.
    const unlock = await lock(this.file(LOCK), 0).catch(() => async () => {});
    await unlock?.();
    return unlock ? undefined : this.read<RunningFleet>(OWNER);
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
  get usedAt(): number {
    const card = statSync(this.file(CARD), { throwIfNoEntry: false });
    return (card ?? statSync(this.file('millrace.db'))).mtimeMs;
  }

  private file(name: string): string {
    return join(this.path, name);
  }

  private async read<T>(name: string): Promise<T | undefined> {
    try {
      return JSON.parse(await readFile(this.file(name), 'utf8')) as T;
    } catch (error) {
      if (!(error instanceof SyntaxError) && !/^(ENOENT|ENOTDIR)$/.test(errorCode(error) ?? '')) throw error;
      return undefined;
    }
  }
}

/**
 * The folder of the pipeline that delivers there. One that an earlier version kept in the root itself goes on there: it
 * knew no destinations, and belongs to the first that comes.
 */
export async function dataOf(destination: Destination): Promise<DataDirectory> {
  const own = new DataDirectory(join(DATA_ROOT, nameOf(destination)));
  const early = new DataDirectory(DATA_ROOT);
  if (own.isUsed || !early.isUsed) return own;
  const card = await early.card();
  return card && card.destination.address !== destination.address ? own : early;
}

/** All that were used here, the last used first. */
async function pipelinesHere(): Promise<DataDirectory[]> {
  const names = await readdir(DATA_ROOT).catch(() => []);
  return [DATA_ROOT, ...names.map((name) => join(DATA_ROOT, name))]
    .map((path) => new DataDirectory(path))
    .filter(({ isUsed }) => isUsed)
    .sort((a, b) => b.usedAt - a.usedAt);
}

/** The one that is named, else that of the pipeline that was used last; undefined before the first. */
export async function namedOrLast(named: string | undefined): Promise<DataDirectory | undefined> {
  return named ? new DataDirectory(named) : (await pipelinesHere())[0];
}

/** Which pipeline a command speaks of, and how to choose another. */
export async function others(than: DataDirectory): Promise<string[]> {
  const here = (await pipelinesHere()).filter(({ path }) => path !== than.path);
  return Promise.all(
    here.map(async (data) => {
      const card = await data.card();
      return `--data ${relative(process.cwd(), data.path)}${card ? ` → ${shownDestination(card.destination)}` : ''}`;
    }),
  );
}

/** Folders that pipelines here write to: a batch is no source, whichever pipeline made it. */
export async function outputsHere(): Promise<string[]> {
  const cards = await Promise.all((await pipelinesHere()).map((data) => data.card()));
  return cards.flatMap((card) => (card?.destination.sink === 'write' ? [card.destination.address] : []));
}

// Readable, and apart for any two addresses. The format is no part of it: one folder takes one format.
function nameOf({ address }: Destination): string {
  const digest = createHash('sha256').update(address).digest('hex').slice(0, 8);
  const word = basename(URL.canParse(address) ? new URL(address).host : address).replace(/[^\w.-]+/g, '-');
  return `${word.slice(0, 40) || 'out'}-${digest}`;
}

/**
 * Takes the right to use a folder, held by one process, and resolves with how to give it back; undefined when another process,
 * or another holder in this one, has it. The system itself holds it (SQLite's exclusive lock on a file) and gives it back
 * however the process ends, so that neither a process id that was given out again nor two that come at once matter.
 */
async function lock(path: string, waitMs: number): Promise<(() => Promise<void>) | undefined> {
  const { default: sqlite } = await import('sqlite3');
  const file = await new Promise<Database>((resolve, reject) => {
    const opened: Database = new sqlite.Database(path, (error) => (error ? reject(error) : resolve(opened)));
  });
  const release = (): Promise<void> => new Promise((resolve) => file.close(() => resolve()));
  file.configure('busyTimeout', waitMs);
  try {
    await promisify<string, void>(file.exec.bind(file))('BEGIN EXCLUSIVE');
    return release;
  } catch (error) {
    await release();
    if (errorCode(error) !== 'SQLITE_BUSY') throw error;
    return undefined;
  }
}
