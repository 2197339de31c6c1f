import { EventEmitter, once } from 'node:events';

/** What an app tells the process that started it. A log would not do: its level and form are the user's. */
export interface Told {
  /** Where its probes and pages are. */
  port?: number;
  /** Why it ends. */
  failed?: string;
  /** What it has done since it began; grows. */
  done?: Done;
  /** What a task that came to its end has done. */
  summary?: Readonly<Record<string, unknown>>;
  /** The number of the scan that it was asked for and has ended. */
  scan?: number;
}

/** Tells the parent, if one holds a channel to this process. */
export function tellParent(told: Told): void {
  if (process.connected) process.send?.(told, undefined, undefined, () => {});
}

/** What is counted of a run, each by the one who does it. Files unless another word is in the name. */
export type Done = Partial<Record<(typeof COUNTS)[number], number>>;
const COUNTS = [
  'created',
  'createdBytes',
  'changed',
  'queued',
  'batched',
  'batchedBytes',
  'tokens',
  'touched',
  'skipped',
  'failed',
  'delivered',
  'deliveredBatches',
  'letters',
] as const;

export function sumOfDone(all: readonly Done[]): Done {
  const sum: Done = {};
  for (const count of COUNTS) sum[count] = all.reduce((total, one) => total + (one[count] ?? 0), 0);
  return sum;
}

const TELL_EVERY_MS = 50;
const done: Done = {};
let toldAt = -Infinity;
let telling: NodeJS.Timeout | undefined;

/** Adds to what this process has done, and tells its parent: soon, and not for every file. */
export function tellDone(more: Done): void {
  if (!process.connected) return;
  for (const count of COUNTS) if (more[count]) done[count] = (done[count] ?? 0) + more[count];
  telling ??= setTimeout(
    () => {
      telling = undefined;
      toldAt = performance.now();
      tellParent({ done });
    },
    Math.max(0, toldAt + TELL_EVERY_MS - performance.now()),
  ).unref();
}

/** What a parent tells an app that it has started; what it does not name stays as it was said. */
export interface Word {
  /** Scan; another number asks for another scan. */
  scan?: number;
  /** There is, or may be, work for the services behind the scan. */
  work?: true;
  /** The scan is over: nothing more will be queued. */
  scanned?: true;
  /** Nothing is on its way any more: what is put off until there is time may be done now. */
  drained?: true;
}

let said: Word = {};
let hasParent = false;
const news = new EventEmitter().setMaxListeners(0);

/**
 * Hears what a parent says; who has none shall work. Only for a process of its own: who listens keeps the channel open, and
 * does not end by itself.
 */
export function hearParent(): void {
  hasParent = process.connected;
  if (!hasParent) said = { work: true };
  else
    process.on('message', (word: Word) => {
      said = { ...said, ...word };
      news.emit('word');
    });
}

/** Until the parent has said what is waited for, or nobody waits any more. */
export async function whenSaid(what: (word: Word) => boolean, signal?: AbortSignal): Promise<Word> {
  while (!what(said) && !signal?.aborted) await once(news, 'word', { signal }).catch(() => {});
  return said;
}

/** Whether a parent has a scan done that is not over: files are registered whose jobs are enqueued a moment later. */
export function isScanning(): boolean {
  return hasParent && !said.scanned;
}

/** Calls back when the parent says this, at once if it has. */
export function onSaid(what: 'scanned' | 'drained', listener: () => void): void {
  if (said[what]) listener();
  else void whenSaid((word) => word[what] ?? false).then(listener);
}
