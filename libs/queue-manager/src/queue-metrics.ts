import { DEAD_LETTER_REASONS } from '#contracts';
import type { BreakerState } from '#redis';
import type { Metrics } from '#service';
import { JOB_ENDINGS } from './job-runner.js';
import type { QueueCounts } from './job-queue.js';

export interface QueueSnapshot extends QueueCounts {
  queue: string;
  oldestWaitingMs: number;
}

const STATES = ['waiting', 'active', 'delayed', 'failed', 'completed'] as const;
const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;
const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The metrics of queues, workers and the breaker. Queues are read when Prometheus asks, not in between. */
export class QueueMetrics {
  readonly jobDurations;
  readonly deadLetters;
  readonly reconnects;
  private readonly breaker;
  readonly recreations;
  readonly handBacks;

  constructor(metrics: Metrics, deadLetterQueue: string, snapshot: () => Promise<readonly QueueSnapshot[]>) {
    this.jobDurations = metrics.histogram({
      name: 'millrace_job_duration_seconds',
      help: 'Time from the start of a job to its outcome',
      labels: ['queue', 'outcome'],
      buckets: SECONDS,
    });
    this.deadLetters = metrics.counter({
      name: 'millrace_dead_letters_total',
      help: 'Jobs moved to the dead-letter queue',
      labels: ['queue', 'reason'],
    });
    this.reconnects = metrics.counter({
      name: 'millrace_redis_reconnects_total',
      help: 'Attempts to connect to Redis again',
    });
    this.recreations = metrics.counter({
      name: 'millrace_worker_rebuilds_total',
      help: 'Workers rebuilt because they fetched nothing while jobs waited',
      labels: ['queue'],
    });
    this.handBacks = metrics.counter({
      name: 'millrace_jobs_handed_back_total',
      help: 'Jobs given back to their queue because the worker stopped',
      labels: ['queue'],
    });
    this.breaker = metrics.gauge({
      name: 'millrace_redis_circuit',
      help: 'State of the Redis circuit breaker: 1 for the present state',
      labels: ['state'],
    });
    this.breakerMoved('closed');
    this.registerQueueGauges(metrics, deadLetterQueue, snapshot);
  }

  /** What a worker can count is there from its start, as zero. */
  workerStarts(queue: string): void {
    for (const reason of DEAD_LETTER_REASONS) this.deadLetters.inc({ queue, reason }, 0);
    for (const outcome of JOB_ENDINGS) this.jobDurations.zero({ queue, outcome });
    this.recreations.inc({ queue }, 0);
  }

  breakerMoved(to: BreakerState['state']): void {
    for (const state of BREAKER_STATES) this.breaker.set({ state }, state === to ? 1 : 0);
  }

  private registerQueueGauges(
    metrics: Metrics,
    deadLetterQueue: string,
    snapshot: () => Promise<readonly QueueSnapshot[]>,
  ): void {
    metrics.gauge({
      name: 'millrace_queue_jobs',
      help: 'Jobs of a queue by state',
      labels: ['queue', 'state'],
      collect: async (gauge) => {
        for (const one of await snapshot())
          for (const state of STATES) gauge.set({ queue: one.queue, state }, one[state]);
      },
    });
    metrics.gauge({
      name: 'millrace_queue_oldest_waiting_seconds',
      help: 'Age of the job that is next in line',
      labels: ['queue'],
      collect: async (gauge) => {
        for (const one of await snapshot()) gauge.set({ queue: one.queue }, one.oldestWaitingMs / 1_000);
      },
    });
    metrics.gauge({
      name: 'millrace_dead_letter_queue_jobs',
      help: 'Dead letters that wait to be taken in',
      collect: async (gauge) => {
        const letters = (await snapshot()).find(({ queue }) => queue === deadLetterQueue);
        if (letters) gauge.set(letters.waiting + letters.active + letters.delayed + letters.failed);
      },
    });
  }
}
