import { WorkerHost } from '@nestjs/bullmq';
import type { Contract } from '#contracts';
import { down, UP, type Health, type Service } from '#service';
import type { JobContext, JobHandler } from './held-job.js';
import type { JobOutcome } from './job-outcome.js';
import type { JobQueue } from './job-queue.js';
import { QueueWorker, type QueueWorkerOptions } from './queue-worker.js';

/** What @nestjs/bullmq creates for each `@Processor`. It is handed the queue in place of a connection (see JobQueue). */
export class ProcessorWorker<T> extends QueueWorker<T> {
  constructor(_token: string, handler: JobHandler<T>, { connection: queue }: { connection: JobQueue }) {
    super(queue, handler);
  }

  on(event: string): never {
    throw new Error(`@OnWorkerEvent(${event}) would be lost when the worker is recreated; act in process()`);
  }

  close(): Promise<void> {
    return this.stop();
  }
}

// Nest asks for an instance of WorkerHost; its `process` takes BullMQ's job, ours a checked payload.
const Host = WorkerHost as unknown as abstract new () => {
  readonly worker: ProcessorWorker<unknown>;
  readonly _worker?: ProcessorWorker<unknown>;
};

/**
 * A consumer of one queue: `@Processor(token)` on a class that extends this. QueueManager's `start` gives it its worker,
 * its own `start` sets that to work. Delivery is at least once: `process` must be idempotent.
 */
export abstract class JobProcessor<T> extends Host implements Service {
  abstract readonly name: string;
  protected abstract readonly contract: Contract<T>;

  abstract process(payload: T, context: JobContext): Promise<JobOutcome>;

  protected workerOptions(): QueueWorkerOptions<T> {
    return {};
  }

  async start(_signal?: AbortSignal): Promise<void> {
    await this.worker.configure(this.contract, this.workerOptions()).start();
  }

  async stop(): Promise<void> {
    await this._worker?.stop();
  }

  health(): Health {
    return this._worker?.health() ?? down('not started');
  }

  liveness(): Health {
    return this._worker?.liveness() ?? UP;
  }
}
