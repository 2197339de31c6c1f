import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process under test: its output so far, its end, and signals to it. */
export class Child {
  stdout = '';
  stderr = '';
  readonly exited: Promise<Exit>;
  private exit: Exit | undefined;
  private readonly watchers = new Set<() => void>();

  constructor(
    readonly process: ChildProcess,
    private readonly label: string,
  ) {
    live.add(this);
    process.stdout?.setEncoding('utf8').on('data', (text: string) => this.append('stdout', text));
    process.stderr?.setEncoding('utf8').on('data', (text: string) => this.append('stderr', text));
    this.exited = once(process, 'close').then(([code, signal]) => {
      live.delete(this);
      this.exit = { code: code as number | null, signal: signal as NodeJS.Signals | null };
      this.notify();
      return this.exit;
    });
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error(`${this.label} did not start`);
    return this.process.pid;
  }

  get running(): boolean {
    return this.exit === undefined;
  }

  /** Lines of standard output that are JSON objects: the log. */
  logs(): Record<string, unknown>[] {
    return this.stdout.split('\n').flatMap((line) => {
      if (!line.startsWith('{')) return [];
      try {
        return [JSON.parse(line) as Record<string, unknown>];
      } catch {
        return [];
      }
    });
  }

  /** Waits until the output so far matches. Fails, showing the output, when the process ends or time is up. */
  async output(pattern: RegExp | string, timeoutMs = 30_000): Promise<void> {
    const matches = (): boolean => {
      const all = this.stdout + this.stderr;
      return typeof pattern === 'string' ? all.includes(pattern) : pattern.test(all);
    };
    await this.until(matches, timeoutMs, `printed ${String(pattern)}`);
  }

  /** Waits for a log line with these fields and returns it. */
  async log(fields: Record<string, unknown>, timeoutMs = 30_000): Promise<Record<string, unknown>> {
    const find = (): Record<string, unknown> | undefined =>
      this.logs().find((line) => Object.entries(fields).every(([key, value]) => line[key] === value));
    await this.until(() => find() !== undefined, timeoutMs, `logged ${JSON.stringify(fields)}`);
    return find() ?? {};
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) process.kill(this.pid, signal);
  }

  /** Stops it as a frozen machine would: at whatever it is doing, locks of files included. SIGCONT lets it go on. */
  async freeze(): Promise<void> {
    this.signal('SIGSTOP');
    await this.stopped();
  }

  /** Waits until SIGSTOP has stopped it, from wherever it came. */
  async stopped(timeoutMs = 60_000): Promise<void> {
    await eventually(() => !this.running || isStopped(this.pid), { timeoutMs, everyMs: 1 });
    if (!this.running) throw this.notReadyReason('ended before it was stopped');
  }

  /** Sends the signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = 20_000): Promise<Exit> {
    this.signal(signal);
    await this.until(() => !this.running, timeoutMs, `ended after ${signal}`);
    return this.exited;
  }

  private append(stream: 'stdout' | 'stderr', text: string): void {
    this[stream] += text;
    this.notify();
  }

  private notify(): void {
    for (const watcher of this.watchers) watcher();
  }

  private until(condition: () => boolean, timeoutMs: number, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
        if (error) reject(error);
        else resolve();
      };
      const look = (): void => {
        if (condition()) settle();
        else if (!this.running) settle(this.notReadyReason(`ended before it ${what}`));
      };
      const timer = setTimeout(
        () => settle(this.notReadyReason(`has not ${what} in ${timeoutMs} ms`)),
        timeoutMs,
      );
      this.watchers.add(look);
      look();
    });
  }

  private notReadyReason(what: string): Error {
    const tail = (text: string): string => text.slice(-4000);
    return new Error(
      `${this.label} ${what}\n--- stdout\n${tail(this.stdout)}\n--- stderr\n${tail(this.stderr)}`,
    );
  }
}

/** Whether a process was stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

const live = new Set<Child>();

/** Processes started here that have not ended. */
export function liveChildren(): readonly Child[] {
  return [...live];
}

export const PROJECT_ROOT = join(import.meta.dirname, '../../..');

/** Starts a program. The environment is only what is given, plus PATH and HOME, so that no setting leaks in. */
export function spawnProgram(command: string, args: readonly string[], options: SpawnOptions = {}): Child {
  const { PATH, HOME } = process.env;
  const child = spawn(command, args, {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    env: { PATH, HOME, ...options.env },
  });
  return new Child(child, [command, ...args].join(' '));
}

/** Starts a program of this project, such as `libs/database/testing/claims.process`: tests from their sources, others as built. */
export function spawnBuilt(file: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Child {
  return spawnProgram(process.execPath, [...nodeArguments(file), ...args], { env });
}

/** What Node is told to run such a program. */
export function nodeArguments(file: string): string[] {
  return file.startsWith('test/')
    ? ['--import', join(PROJECT_ROOT, 'scripts/typescript.mjs'), join(PROJECT_ROOT, `${file}.ts`)]
    : [join(PROJECT_ROOT, 'dist', `${file}.js`)];
}

/** Starts an app of this project as its container would. Ports are free ones unless given. */
export function spawnApp(app: string, env: NodeJS.ProcessEnv = {}, args: readonly string[] = []): Child {
  return spawnBuilt(`apps/${app}/src/main`, args, { PORT: '0', ...env });
}
