import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { backoffMs, EXIT, sleep, sumOfDone, within, type Done, type Told, type Word } from '#service';
import { childEnvironment, inContainer } from '../own-settings.js';
import type { DataDirectory } from './data-directory.js';

export type AppName = 'producer' | 'batcher' | 'outbox-publisher' | 'analyzer' | 'dlq-admin' | 'worker';
export type Environment = Readonly<Record<string, string>>;

export interface AppPlan {
  app: AppName;
  /** Distinguishes several of one app. */
  label?: string;
  /** Started when it is asked for, not with the others. */
  onDemand?: boolean;
  env?: Environment | undefined;
  /** What is decided anew at each start. */
  atStart?: (() => Promise<Environment>) | undefined;
}

/** How an app came to its end, in words for a person. */
export interface Ending {
  code: number;
  reason: string;
}

const TERM_MS = 6_000;
const PROBE_MS = 3_000;
const MAX_RESTARTS = 5;
// One that ran for so long was sound: what ended it is not what ended the ones before.
const SOUND_MS = 60_000;
// Waiting or trying again changes nothing about these.
const FINAL: readonly number[] = [EXIT.usage, 65, 66, 77, EXIT.config];

const [root = ''] = import.meta.dirname.split(`${sep}apps${sep}cli${sep}`);
const built = root.endsWith('dist') ? root : join(root, 'dist');

/** The built main of an app of this project. */
export const appMain = (app: AppName): string => join(built, 'apps', app, 'src/main.js');

/** How often an app was started again in a row, now that one ended after so long; undefined when it is not worth another try. */
export function restartsAfter(restarts: number, ranMs: number): number | undefined {
  if (ranMs >= SOUND_MS) return 1;
  return restarts < MAX_RESTARTS ? restarts + 1 : undefined;
}

/** An app as a child process. It ends when this process does, whatever ends it: the channel between them closes. */
export class ChildApp {
  readonly label: string;
  readonly logFile: string;
  private child: ChildProcess | undefined;
  private readonly ending = new AbortController();
  private logStart = 0;
  private killedBy: NodeJS.Signals | null = null;
  /** What the process that runs now, or ran last, has told about itself. */
  last: Told = {};
  private earlier: Done = {};
  private word: Word = {};
  /** Called when it ended and is started again. */
  onRestart: (ending: Ending) => void = () => {};

  constructor(
    readonly plan: AppPlan,
    /** Where it logs and runs: away from the files of the directory that is worked on. */
    private readonly data: DataDirectory,
    /** Called when its process has told something. */
    private readonly onTold = () => {},
  ) {
    this.label = plan.label ?? plan.app;
    this.logFile = data.logFile(this.label);
  }

  private get stopping(): boolean {
    return this.ending.signal.aborted;
  }

  /** What its processes have done, as far as they have told. */
  get done(): Done {
    return sumOfDone([this.earlier, this.last.done ?? {}]);
  }

  /** Tells it something, and whoever is started in its place. */
  say(word: Word): void {
    this.word = { ...this.word, ...word };
    if (this.child?.connected) this.child.send(word, () => {});
  }

  /**
   * Keeps it running until stopped, a `task` until its good end: what dies is started again. Resolves with how it ended when
   * another try would not change that.
   */
  async run({ task = false } = {}): Promise<Ending | undefined> {
    for (let restarts = 0; ;) {
      const begun = performance.now();
      const code = await this.runOnce();
      if (this.stopping || (task && code === EXIT.ok)) return undefined;
      const next = restartsAfter(restarts, performance.now() - begun);
      const ending = { code, reason: this.exitSummary(code) };
      if (FINAL.includes(code) || next === undefined) return ending;
      restarts = next;
      this.onRestart(ending);
      await sleep(backoffMs(restarts, { baseMs: 200, maxMs: 5_000 }), this.ending.signal);
      if (this.stopping) return undefined;
    }
  }

  /** Resolves with its exit code; a signal counts as a failure. */
  private async runOnce(): Promise<number> {
    const { app, env, atStart } = this.plan;
    const decided = { ...(await childEnvironment()), LOG_FORMAT: 'json', ...env, ...(await atStart?.()) };
    if (this.stopping) return EXIT.failed;
    const log = openSync(this.logFile, 'a', 0o600);
    this.logStart = fstatSync(log).size;
    this.earlier = this.done;
    this.last = {};
    const child = spawn(process.execPath, [appMain(app)], {
      // The log goes straight to its file, so a slow reader here cannot hold the app up.
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
      ...(!inContainer() && { cwd: this.data.path }),
      env: decided,
    });
    closeSync(log);
    this.child = child;
    child.send(this.word, () => {});
    child.on('message', (told: Told) => {
      this.last = { ...this.last, ...told };
      this.onTold();
    });
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const [code, signal] = await ended.catch(() => [null, null]);
    this.killedBy = signal;
    this.child = undefined;
    return code ?? EXIT.internal;
  }

  /** Asks it to end in order, and insists when it does not. */
  async stop(): Promise<void> {
    this.ending.abort();
    const { child } = this;
    if (!child) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await within<unknown>(TERM_MS, ended, () => child.kill('SIGKILL'));
  }

  /** Why it is not ready, in its own words; undefined when it is, or does not say. */
  async notReadyReason(): Promise<string | undefined> {
    const { port } = this.last;
    const reasons = this.child && port !== undefined ? await unreadyParts(port).catch(() => []) : [];
    return reasons.length > 0 ? `${this.label}: ${reasons.join('; ')}` : undefined;
  }

  /** What it said last, or the end of its log: what a person needs to know. */
  private exitSummary(code: number): string {
    const words = this.last.failed ?? this.loggedText();
    const end = this.killedBy ? `was killed by ${this.killedBy}` : `ended with code ${code}`;
    return `${this.label} ${end}: ${inOurWords(words) || 'no message'} (log: ${this.logFile})`;
  }

  /** Lines that are no log records: what an app prints before it has a log, such as faults of its configuration. */
  private loggedText(): string {
    const text = readFileSync(this.logFile).subarray(this.logStart).toString('utf8').trimEnd();
    const lines = text.split('\n').filter((line) => !line.startsWith('{'));
    return lines.slice(-8).join('\n');
  }
}

/** Settings have other names at a laptop than in a service. */
function inOurWords(words: string): string {
  if (inContainer()) return words;
  return words
    .replaceAll(/^( *)([A-Z_]+): found (.*) \(environment\)/gm, '$1MILLRACE_$2: found $3')
    .replaceAll('set ALLOW_MASS_REMOVAL=true', 'say --allow-mass-removal')
    .replaceAll('use another DATABASE_URL', 'choose another --out');
}

async function unreadyParts(port: number): Promise<string[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, {
    signal: AbortSignal.timeout(PROBE_MS),
  });
  const { error = {} } = (await answer.json()) as { error?: Record<string, { reason?: string }> };
  // An app that starts is not stuck: it waits for what it needs, and ends with a reason if that does not come.
  return 'lifecycle' in error ? [] : Object.values(error).flatMap(({ reason }) => reason ?? []);
}
