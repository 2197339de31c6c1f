import type { ResourceLimits, TransferListItem } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { threadFile } from './thread-file.js';
import { fromWire, type ThreadReply, type ThreadRequest, type ThreadSetup } from './thread-wire.js';

// piscina loads our entry, an ES module, by `require` first. Node aborts the whole process when a thread is terminated in the
// middle of that; told not to, it refuses, and piscina imports it.
const REQUIRE_MODULE = '--experimental-require-module';
const THREAD_ARGUMENTS = [
  '--enable-source-maps',
  ...(process.allowedNodeEnvironmentFlags.has(REQUIRE_MODULE) ? ['--no-experimental-require-module'] : []),
];

interface ThreadsOptions {
  file: URL;
  count: number;
  data: unknown;
  resourceLimits: ResourceLimits | undefined;
  onError: (error: unknown) => void;
}

interface Performance {
  slot: number;
  task: unknown;
  transferList: readonly TransferListItem[];
  /** Aborting it terminates the thread that runs the task. */
  kill: AbortSignal;
}

export type Performed = { outcome: 'returned'; value: unknown } | Failure;
export type Failure =
  | { outcome: 'threw'; error: Error }
  | { outcome: 'not-cloneable'; cause: unknown }
  | { outcome: 'died'; cause: unknown };

/**
 * The threads themselves. Created with the first task, replaced when they die; `perform` always settles, and tells a
 * task that failed from a thread that died. Callers keep at most one task in a slot and `count` slots in use.
 */
export class Threads {
  private piscina: Piscina | undefined;
  private readonly abortFlags: Int32Array;

  constructor(private readonly options: ThreadsOptions) {
    this.abortFlags = new Int32Array(new SharedArrayBuffer(options.count * Int32Array.BYTES_PER_ELEMENT));
  }

  get alive(): number {
    return this.piscina?.threads.length ?? 0;
  }

  perform({ slot, task, transferList, kill }: Performance): Promise<Performed> {
    Atomics.store(this.abortFlags, slot, 0);
    return this.send({ kind: 'task', slot, task }, transferList, kill);
  }

  /** Asks the task in the slot to end early. */
  requestAbort(slot: number): void {
    Atomics.store(this.abortFlags, slot, 1);
  }

  /** Makes every thread load its file. */
  async load(signal: AbortSignal): Promise<Failure[]> {
    const each = Array.from({ length: this.options.count }, () => this.send({ kind: 'load' }, [], signal));
    return (await Promise.all(each)).filter((performed) => performed.outcome !== 'returned');
  }

  /** Terminates all threads; what they were doing counts as died. A later task starts new ones. */
  async terminate(): Promise<void> {
    const piscina = this.piscina;
    this.piscina = undefined;
    await piscina?.destroy();
  }

  private async send(
    request: ThreadRequest,
    transferList: readonly TransferListItem[],
    kill: AbortSignal,
  ): Promise<Performed> {
    try {
      this.piscina ??= this.create();
      const reply = (await this.piscina.run(request, {
        transferList: [...transferList],
        signal: kill,
      })) as ThreadReply;
      return reply.ok
        ? { outcome: 'returned', value: reply.value }
        : { outcome: 'threw', error: fromWire(reply.error) };
    } catch (cause) {
      return isCloneError(cause) ? { outcome: 'not-cloneable', cause } : { outcome: 'died', cause };
    }
  }

  private create(): Piscina {
    const { file, count, data, resourceLimits, onError } = this.options;
    const setup: ThreadSetup = { file: file.href, abortFlags: this.abortFlags, data };
    const piscina = new Piscina({
      filename: fileURLToPath(threadFile(import.meta.url, './entry.thread.js')),
      minThreads: count,
      maxThreads: count,
      workerData: setup,
      recordTiming: false,
      execArgv: THREAD_ARGUMENTS,
      ...(resourceLimits && { resourceLimits }),
    });
    piscina.on('error', onError);
    // Dead threads are replaced in the same turn, unless one died before it was ready: then piscina gives up replacing,
    // and with the last thread every task it still holds would hang.
    piscina.on('workerDestroy', () => queueMicrotask(() => this.discardIfDead(piscina)));
    return piscina;
  }

  private discardIfDead(piscina: Piscina): void {
    if (this.piscina === piscina && piscina.threads.length === 0) void this.terminate();
  }
}

function isCloneError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'DataCloneError';
}
