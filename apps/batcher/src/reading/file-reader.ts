import { Inject, Injectable } from '@nestjs/common';
import type { FilePlace } from '#files';
import { errorCode, LOGGER, type Logger } from '#service';
import { ThreadPool } from '#worker-pool';
import { BatcherStoppedError, PoisonFileError, ReadTimeoutError } from '../batcher.errors.js';
import type { ReadOutcome } from './read-outcome.js';
import { outcomesFromWire, taskToWire } from './read-wire.js';

/** Its threads; by a name of its own, since a process may hold the threads of several apps. */
export const READERS = Symbol('readers');

/** Where a file is, by its row, and how large it was registered; it may be another by now. */
export interface FileToRead extends FilePlace {
  size: number;
}

// One task running and one ready on each thread; what waits longer would spend its time limit waiting.
const TASKS_PER_THREAD = 2;
const LIMIT_MS = 60_000;
// A thread counts a hundred times as fast even where the pattern is slow; a machine may be that overloaded, or a mount.
const SLOWEST_BYTES_PER_MS = 32;

/**
 * Has files read by threads, those of a call as one task. A file that kills its thread is poison; the files of its task
 * are read again one by one, so they do not suffer.
 */
@Injectable()
export class FileReader {
  private tasks = 0;
  private stopped = false;
  private readonly waiting: (() => void)[] = [];

  constructor(
    @Inject(READERS) private readonly pool: ThreadPool,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** What reading each file came to, in their order. `begin` is awaited before a thread has them. Never rejects. */
  async read(files: readonly FileToRead[], begin?: () => Promise<void>): Promise<ReadOutcome[]> {
    if (files.length === 0) return [];
    try {
      return await this.readOnThread(files, begin);
    } catch (error) {
      const deaths = errorCode(error) === 'THREAD_DIED' ? 1 : 0;
      if (this.stopped) return files.map(() => failure(new BatcherStoppedError()));
      if (files.length > 1)
        this.logger.warn(
          { err: error, files: files.length },
          'a reading task failed; its files are read one by one',
        );
      else if (deaths === 0) return files.map((file) => failure(this.errorOf(file, error)));
      return Promise.all(files.map((file) => this.readAlone(file, deaths)));
    }
  }

  /** Gives up what no thread has begun. */
  stop(): void {
    this.stopped = true;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** `deaths`: threads that died while they had this file. */
  private async readAlone(file: FileToRead, deaths: number): Promise<ReadOutcome> {
    try {
      const [outcome] = await this.readOnThread([file]);
      return outcome as ReadOutcome;
    } catch (error) {
      if (this.stopped || errorCode(error) !== 'THREAD_DIED') return failure(this.errorOf(file, error));
      if (deaths > 0) return failure(new PoisonFileError(file.path.text, error));
      return this.readAlone(file, deaths + 1);
    }
  }

  private errorOf(file: FileToRead, error: unknown): unknown {
    if (this.stopped) return new BatcherStoppedError();
    return errorCode(error) === 'TASK_ABORTED'
      ? new ReadTimeoutError(file.path.text, limitMs([file]), error)
      : error;
  }

  private async readOnThread(
    files: readonly FileToRead[],
    begin?: () => Promise<void>,
  ): Promise<ReadOutcome[]> {
    await this.turn();
    try {
      await begin?.();
      return outcomesFromWire(await this.pool.run<string>(taskToWire(files), { limitMs: limitMs(files) }));
    } finally {
      this.tasks--;
      this.waiting.shift()?.();
    }
  }

  private async turn(): Promise<void> {
    while (this.tasks >= this.pool.threads * TASKS_PER_THREAD && !this.stopped)
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    if (this.stopped) throw new BatcherStoppedError();
    this.tasks++;
  }
}

/** How long a task may take before its files are given up for this time. */
export function limitMs(files: readonly { size: number }[]): number {
  return LIMIT_MS + Math.ceil(files.reduce((sum, { size }) => sum + size, 0) / SLOWEST_BYTES_PER_MS);
}

function failure(error: unknown): ReadOutcome {
  return { kind: 'error', error };
}
