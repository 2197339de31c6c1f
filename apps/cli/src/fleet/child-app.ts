import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { environment } from '#config';
import { backoffMs, EXIT, sleep, within, type Logger } from '#service';
import { appMain } from './app-main.js';

export type AppName = 'producer' | 'batcher' | 'outbox-publisher' | 'analyzer' | 'dlq-admin';
type Environment = Readonly<Record<string, string>>;

export interface ChildAppOptions {
  app: AppName;
  /** Distinguishes several of one app. */
  label: string;
  env: Environment;
  logFile: string;
  logger: Logger;
}

const MAX_RESTARTS = 5;
const TERM_MS = 6_000;
const PROBE_MS = 3_000;

/** An app as a child process. It ends when this process does, whatever ends it: the channel between them closes. */
export class ChildApp {
  private child: ChildProcess | undefined;
  private stopping = false;
  private logStart = 0;
  private killedBy: NodeJS.Signals | null = null;

  constructor(private readonly options: ChildAppOptions) {}

  get label(): string {
    return this.options.label;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Runs it once and resolves with its exit code; a signal counts as a failure. */
  async runOnce(): Promise<number> {
    if (this.stopping) return EXIT.failed;
    const { app, env, logFile } = this.options;
    const log = openSync(logFile, 'a', 0o600);
    this.logStart = fstatSync(log).size;
    const child = spawn(process.execPath, [...nodeFlags(app), appMain(app)], {
      // The log goes straight to its file, so a slow reader here cannot hold the app up.
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
      env: { ...inherited(), LOG_FORMAT: 'json', ...env },
    });
    closeSync(log);
    this.child = child;
    const code = await new Promise<number>((resolve) => {
      child.on('exit', (status, signal) => {
        this.killedBy = signal;
        resolve(status ?? EXIT.internal);
      });
      child.on('error', () => resolve(EXIT.internal));
    });
    this.child = undefined;
    return code;
  }

  /** Keeps it running until stopped: what dies is started again. Resolves with a reason when it cannot be kept running. */
  async keepRunning(): Promise<string | undefined> {
    for (let restarts = 0; ; restarts++) {
      const code = await this.runOnce();
      if (this.stopping) return undefined;
      if (code === EXIT.config || restarts >= MAX_RESTARTS) return this.lastWords(code);
      this.options.logger.warn({ app: this.label, code }, 'app ended; starting it again');
      await sleep(backoffMs(restarts, { baseMs: 200, maxMs: 5_000 }));
      if (this.stopping) return undefined;
    }
  }

  /** Asks it to end in order, and insists when it does not. */
  async stop(): Promise<void> {
    this.stopping = true;
    const child = this.child;
    if (!child) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    await within(TERM_MS, ended, () => void child.kill('SIGKILL'));
  }

  /** Why it is not ready, in its own words; undefined when it is, or does not say. */
  async complaint(): Promise<string | undefined> {
    const port = this.child && this.lastRecord('port');
    if (typeof port !== 'number') return undefined;
    const reasons = await unreadyParts(port).catch(() => []);
    return reasons.length > 0 ? `${this.label}: ${reasons.join('; ')}` : undefined;
  }

  /** The last record that this process has logged with this field, such as the summary of a scan. */
  lastRecord(field: string): unknown {
    for (const line of this.logged().reverse()) {
      const record = parse(line);
      if (record && field in record) return record[field];
    }
    return undefined;
  }

  /** What the process that runs now, or ran last, has logged; earlier ones wrote to the same file. */
  private logged(): string[] {
    return readFileSync(this.options.logFile).subarray(this.logStart).toString('utf8').trimEnd().split('\n');
  }

  /** The last error that the app logged, or the end of its log: what a person needs to know. */
  lastWords(code: number): string {
    const lines = this.logged().slice(-50);
    const errors = lines.flatMap((line) => {
      const record = parse(line);
      return record && ['fatal', 'error'].includes(String(record.level)) ? [String(record.msg)] : [];
    });
    const words =
      errors.at(-1) ??
      lines
        .filter((line) => !line.startsWith('{'))
        .slice(-8)
        .join('\n');
    const end = this.killedBy ? `was killed by ${this.killedBy}` : `ended with code ${code}`;
    return `${this.label} ${end}: ${words || 'no message'} (log: ${this.options.logFile})`;
  }
}

// A batcher holds jobs for longer than a young generation of the usual size lasts: it would copy each of them twice.
function nodeFlags(app: string): string[] {
  return ['--enable-source-maps', ...(app === 'batcher' ? ['--max-semi-space-size=32'] : [])];
}

// Settings of the caller's environment reach the apps; what the run decides wins over them.
function inherited(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment()).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

async function unreadyParts(port: number): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, {
    signal: AbortSignal.timeout(PROBE_MS),
  });
  const { error = {} } = (await answer.json()) as { error?: Record<string, { reason?: string }> };
  // An app that starts is not stuck: it waits for what it needs, and ends with a reason if that does not come.
  return 'lifecycle' in error ? [] : Object.values(error).flatMap(({ reason }) => reason ?? []);
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
