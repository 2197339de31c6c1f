import type { FileStatus, RegisteredFiles } from '#database';
import { errorCode, type Logger } from '#service';
import type { ThreadPool } from '#worker-pool';
import { BatcherStoppedError, PoisonFileError, ReadTimeoutError } from '../batcher.errors.js';
import type { FileRef, KnownTokens, ReadOutcome, ReadTask } from './read-outcome.js';
import { fillsGroup, groupLength, readLimitMs } from './read-plan.js';

/** Which file to read: where it is, its row says. */
export interface ReadRequest {
  fileId: number;
  revision: number;
  /** As registered; it may differ by now. */
  size: number;
  what: ReadTask['what'];
  known?: KnownTokens;
}

interface Waiting extends ReadRequest {
  /** Threads that died while they had this file. */
  deaths: number;
  resolve: (outcome: ReadOutcome) => void;
  reject: (error: unknown) => void;
}

// One task running and, when enough is waiting to fill it, one ready on each thread.
const TASKS_A_THREAD = 2;
// Jobs come one by one, some thousand a second: so long, the first of a task waits for company.
const GATHER_MS = 10;

type Located = Waiting & { ref: FileRef };

const UNSETTLED: readonly FileStatus[] = ['pending', 'processing', 'failed'];

/**
 * Has files read by threads, small ones many a task, where their rows say they are: one query a task. A file that kills its thread is rejected as poison; the files of
 * its task are read again one by one, so they do not suffer.
 */
export class FileReader {
  private readonly waiting: Waiting[] = [];
  private waitingBytes = 0;
  private tasks = 0;
  private stopped = false;
  private gathering: NodeJS.Timeout | undefined;

  constructor(
    private readonly pool: ThreadPool,
    private readonly rows: Pick<RegisteredFiles, 'find'>,
    private readonly logger: Logger,
  ) {}

  read(request: ReadRequest): Promise<ReadOutcome> {
    if (this.stopped) return Promise.reject(new BatcherStoppedError());
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...request, deaths: 0, resolve, reject });
      this.waitingBytes += request.size;
      if (this.fillsGroup()) this.pump();
      else this.gathering ??= setTimeout(() => this.pump(), GATHER_MS);
    });
  }

  /** Gives up what no thread has begun. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.gathering);
    for (const { reject } of this.take(this.waiting.length)) reject(new BatcherStoppedError());
  }

  private pump(): void {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    for (let length = this.nextLength(); length > 0; length = this.nextLength())
      void this.perform(this.take(length));
  }

  private take(length: number): Waiting[] {
    const taken = this.waiting.splice(0, length);
    for (const { size } of taken) this.waitingBytes -= size;
    return taken;
  }

  private fillsGroup(): boolean {
    return fillsGroup(this.waiting.length, this.waitingBytes);
  }

  private nextLength(): number {
    const { threads } = this.pool;
    if (this.tasks < threads) return groupLength(this.waiting, threads - this.tasks);
    // Every thread is busy: what waits may as well wait for company.
    if (this.tasks >= threads * TASKS_A_THREAD || !this.fillsGroup()) return 0;
    return groupLength(this.waiting, 1);
  }

  private async perform(requests: Waiting[]): Promise<void> {
    this.tasks++;
    try {
      const group = await this.locate(requests);
      if (group.length > 0) await this.readOnThread(group);
    } catch (error) {
      for (const { reject } of requests) reject(this.stopped ? new BatcherStoppedError() : error);
    } finally {
      this.tasks--;
      this.pump();
    }
  }

  /** The requests that their rows still want, each with the place of its file. */
  private async locate(requests: readonly Waiting[]): Promise<Located[]> {
    const files = await this.rows.find(requests.map(({ fileId }) => fileId));
    return requests.flatMap((request) => {
      const file = files.get(request.fileId);
      if (!file || file.revision !== request.revision || file.removed || !UNSETTLED.includes(file.status)) {
        request.resolve({ kind: 'obsolete' });
        return [];
      }
      const { root, path, followLinks, folderIdentity } = file;
      const { known } = request;
      return [Object.assign(request, { ref: { root, path, followLinks, folderIdentity, known } })];
    });
  }

  private async readOnThread(group: Located[]): Promise<void> {
    const limitMs = readLimitMs(group);
    try {
      const task: ReadTask = { what: group[0]?.what ?? 'count', files: group.map(({ ref }) => ref) };
      const outcomes = await this.pool.run<ReadOutcome[]>(task, { signal: AbortSignal.timeout(limitMs) });
      group.forEach(({ resolve }, index) => resolve(outcomes[index] as ReadOutcome));
    } catch (error) {
      this.failed(group, error, limitMs);
    }
  }

  private failed(group: Located[], error: unknown, limitMs: number): void {
    const died = errorCode(error) === 'THREAD_DIED';
    if (died) for (const request of group) request.deaths++;
    if (this.stopped || group.length === 1)
      return group.forEach((request) => this.failedAlone(request, error, limitMs));
    this.logger.warn(
      { err: error, files: group.length },
      'a reading task failed; its files are read one by one',
    );
    for (const request of group) void this.perform([request]);
  }

  private failedAlone(request: Located, error: unknown, limitMs: number): void {
    const path = request.ref.path.text;
    if (this.stopped) return request.reject(new BatcherStoppedError());
    if (errorCode(error) === 'TASK_ABORTED')
      return request.reject(new ReadTimeoutError(path, limitMs, error));
    if (errorCode(error) !== 'THREAD_DIED') return request.reject(error);
    if (request.deaths > 1) return request.reject(new PoisonFileError(path, error));
    void this.perform([request]);
  }
}
