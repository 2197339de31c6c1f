import { DEAD_LETTER_REASONS } from '#contracts';
import type { BreakerState } from '#redis';
import { DeadLetters } from './dead-letters.js';
import type { JobQueue } from './job-queue.js';
import type { QueueManager } from './queue-manager.js';

/** How jobs end. */
const JOB_ENDINGS = ['completed', 'retried', 'failed', 'postponed'] as const;
export type JobEnding = (typeof JOB_ENDINGS)[number];
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

  constructor(private readonly manager: QueueManager) {
    const { metrics } = manager.settings;
    this.jobDurations = metrics.histogram({
      name: 'millrace_job_duration_seconds',
      help: 'Time from the start of a job to its outcome',
      labels: ['queue', 'outcome'],
      buckets: SECONDS,
    });
    const counter = <L extends string = never>(name: `millrace_${string}`, help: string, ...labels: L[]) =>
      metrics.counter({ name, help, labels });
    const moved = 'Jobs moved to the dead-letter queue';
    this.deadLetters = counter('millrace_dead_letters_total', moved, 'queue', 'reason');
    this.reconnects = counter('millrace_redis_reconnects_total', 'Attempts to connect to Redis again');
    const rebuilt = 'Workers rebuilt because they fetched nothing while jobs waited';
    this.recreations = counter('millrace_worker_rebuilds_total', rebuilt, 'queue');
    const givenBack = 'Jobs given back to their queue because the worker stopped';
    this.handBacks = counter('millrace_jobs_handed_back_total', givenBack, 'queue');
    const circuit = 'State of the Redis circuit breaker: 1 for the present state';
    this.breaker = metrics.gauge({ name: 'millrace_redis_circuit', help: circuit, labels: ['state'] });
    this.breakerMoved('closed');
    this.queueGauges();
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

  private queueGauges(): void {
    const { metrics, deadLetterQueue } = this.manager.settings;
    const ask = async (read: (queue: JobQueue) => Promise<void>): Promise<void> => {
      await Promise.all(this.manager.readable().map((queue) => read(queue).catch(() => {})));
    };
    metrics.gauge({
      name: 'millrace_queue_jobs',
      help: 'Jobs of a queue by state',
      labels: ['queue', 'state'],
      collect: (gauge) =>
        ask(async (queue) => {
          const counts = await queue.counts();
          for (const state of STATES) gauge.set({ queue: queue.name, state }, counts[state]);
        }),
    });
    metrics.gauge({
      name: 'millrace_queue_oldest_waiting_seconds',
      help: 'Age of the job that is next in line',
      labels: ['queue'],
      collect: (gauge) =>
        ask(async (queue) => gauge.set({ queue: queue.name }, (await queue.oldestWaitingMs()) / 1_000)),
    });
    metrics.gauge({
      name: 'millrace_dead_letter_queue_jobs',
      help: 'Dead letters that wait to be taken in',
      collect: (gauge) =>
        ask(async (queue) => {
          if (queue.name === deadLetterQueue) gauge.set(await new DeadLetters(queue).count());
        }),
    });
  }
}
