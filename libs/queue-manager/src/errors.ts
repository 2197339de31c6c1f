import { CodedError } from '#service';

/** Part of a bulk was not confirmed. Enqueue the jobs of `failedIds` again: the same ids make that harmless. */
export class EnqueueError extends CodedError {
  constructor(
    readonly queue: string,
    readonly failedIds: readonly string[],
    readonly enqueued: number,
    cause: unknown,
  ) {
    super(
      'ENQUEUE_FAILED',
      `${failedIds.length} jobs were not confirmed by ${queue} (${enqueued} were); enqueue them again with the same ids`,
      { cause },
    );
  }
}

class QueueError extends CodedError {}

export const invalidJobId = (jobId: string): CodedError =>
  new QueueError(
    'INVALID_JOB_ID',
    `job id ${JSON.stringify(jobId.slice(0, 80))} is not usable: 1 to 256 characters, no ":", not only digits`,
    { jobId },
  );

export const managerClosed = (): CodedError =>
  new QueueError(
    'QUEUE_MANAGER_CLOSED',
    'the queue manager is closed; enqueue before shutdown or start a new one',
  );

/** The job's record in Redis cannot be read as a job. */
export class CorruptJobError extends CodedError {
  constructor() {
    super('CORRUPT_JOB', 'the job data is not JSON or is too long; correct the payload before requeueing it');
  }
}

/** The job brought its process down twice; the second time it was the only suspect. */
export class CrashedJobError extends CodedError {
  constructor(readonly lastWorkerId: string) {
    super(
      'JOB_CRASHED',
      `the process ${lastWorkerId} died while it ran this job, as another did before; run the payload under a debugger before requeueing it`,
    );
  }
}

/** The job lost its lock too often: it blocks the event loop, or its workers freeze. */
export class StalledJobError extends CodedError {
  constructor(stalls: number) {
    const cure = 'look for CPU work on the event loop';
    super('JOB_STALLED', `the job stalled ${stalls} times (its worker stopped renewing the lock); ${cure}`, {
      stalls,
    });
  }
}

/** Reason of a processor's `signal`: another worker may have the job now, so nothing more may be written for it. */
export const lockLost = (jobId: string): CodedError =>
  new QueueError(
    'JOB_LOCK_LOST',
    `the lock of job ${jobId} is lost; stop working on it, it will be delivered again`,
    { jobId },
  );

/** Reason of a processor's `signal`: the process stops and the job was handed back to the queue. */
export const handedBack = (jobId: string): CodedError =>
  new QueueError(
    'JOB_HANDED_BACK',
    `job ${jobId} was handed back because the worker stops; it will be delivered again`,
    { jobId },
  );
