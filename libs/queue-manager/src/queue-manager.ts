import type { BullRegistrar } from '@nestjs/bullmq';
import type { Contract } from '#contracts';
import { type RedisClient, RedisGate, checkServers, createRedisClient, serverFacts } from '#redis';
import { Loop, within, type Health, type Service } from '#service';
import { sweepFailedJobs } from './dead-letter-sweep.js';
import { DeadLetters } from './dead-letters.js';
import { repairDelays } from './delay-repair.js';
import type { EnqueueItem, EnqueueOptions } from './enqueue.js';
import { managerClosed } from './errors.js';
import { JobQueue } from './job-queue.js';
import type { JobHandler } from './held-job.js';
import { Presence, type RosterEntry } from './presence.js';
import { Settings, type QueueManagerOptions } from './queue-manager.options.js';
import { QueueMetrics } from './queue-metrics.js';
import { QueueWorker, type QueueWorkerOptions } from './queue-worker.js';

type StartedWorker = Pick<QueueWorker, 'queue' | 'active' | 'stop'>;

const CONNECT_MS = 5_000;
const CLOSE_MS = 1_000;

/**
 * The one door to the queues: a shared connection behind a circuit breaker, cached queues, workers with fixed
 * reliability settings, and dead-lettering.
 *
 * Guarantees: while Redis is away a call fails at once or within `commandTimeoutMs`, and recovery needs no help; a job
 * that failed for good reaches the dead-letter queue whatever dies meanwhile; `closeConnections` is idempotent and
 * bounded. Delivery is at least once: processors must be idempotent.
 */
export class QueueManager implements Service {
  readonly name = 'queues';
  readonly settings: Settings;
  readonly gate: RedisGate;
  readonly metrics: QueueMetrics;
  /** Those that were started. */
  readonly workers = new Set<StartedWorker>();
  readonly sweeper: Loop;
  readonly presence: Presence;
  /** The first of each name. */
  private readonly queues = new Map<string, JobQueue>();
  /** The modules of a process may each hold one of the same name. */
  private readonly made = new Set<JobQueue>();
  private started = false;
  private closing: Promise<void> | undefined;

  constructor(
    options: QueueManagerOptions,
    private readonly registrar?: Pick<BullRegistrar, 'register'>,
  ) {
    const settings = (this.settings = new Settings(options));
    this.metrics = new QueueMetrics(this);
    this.gate = new RedisGate((holdOffMs) => this.connect('caller', holdOffMs), settings);
    this.gate.onTransition((state) => this.metrics.breakerMoved(state));
    this.gate.client.on('reconnecting', () => this.metrics.reconnects.inc());
    this.sweeper = new Loop({
      name: 'dead-letter sweep',
      logger: settings.logger,
      idleMs: settings.sweepIntervalMs,
      tick: (signal) => this.sweep(signal),
    });
    this.presence = new Presence(this);
  }

  /**
   * Connects, checks the server and gives every `@Processor` its worker, not yet started. Rejects when Redis is not there
   * yet; may be called again then.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { haste, logger, evictionPolicy } = this.settings;
    if (haste !== 1) logger.warn({ haste }, 'the times of workers are shortened; this is for tests only');
    await this.gate.connected(CONNECT_MS / haste, signal);
    const facts = await this.gate.run('read server facts', serverFacts);
    checkServers(facts, evictionPolicy, logger);
    for (const queue of this.made) queue.usePrefix(this.settings.prefixOf(queue.name));
    await this.tellLeftovers();
    if (!this.started) this.registrar?.register();
    this.started = true;
    if (this.settings.app) await this.presence.start();
  }

  /** Before each queue of a cluster had a tag of its own, their keys were elsewhere. */
  private async tellLeftovers(): Promise<void> {
    const { prefix, logger } = this.settings;
    const moved = [...this.queues.keys()].filter((name) => this.settings.prefixOf(name) !== prefix);
    for (const name of moved)
      if (await this.gate.run('look for older keys', (client) => client.exists(`${prefix}:${name}:meta`)))
        logger.warn(
          { queue: name, keys: `${prefix}:${name}:*` },
          'an older version left keys of this queue; what waited there is enqueued again from the tables: delete them',
        );
  }

  stop(): Promise<void> {
    return this.closeConnections();
  }

  health(): Promise<Health> {
    return this.gate.health();
  }

  /** The queue of that name; one instance a name. */
  getQueue(name: string): JobQueue {
    if (this.closing) throw managerClosed();
    const queue = this.queues.get(name) ?? new JobQueue(name, { owner: this });
    return queue.usePrefix(this.settings.prefixOf(name));
  }

  adopt(queue: JobQueue): void {
    this.made.add(queue);
    if (!this.queues.has(queue.name)) this.queues.set(queue.name, queue);
  }

  get deadLetters(): DeadLetters {
    return new DeadLetters(this.getQueue(this.settings.deadLetterQueue));
  }

  enqueueJob<T>(queue: string, contract: Contract<T>, payload: T, options: EnqueueOptions): Promise<void> {
    return this.enqueueJobs(queue, contract, [{ ...options, payload }]);
  }

  /** See `JobQueue.enqueue`. */
  async enqueueJobs<T>(
    queue: string,
    contract: Contract<T>,
    items: readonly EnqueueItem<T>[],
  ): Promise<void> {
    await this.getQueue(queue).enqueue(contract, items);
  }

  /** A worker of the queue, not yet started: call its `start`. `stop` or `closeConnections` ends it. */
  createWorker<T>(
    queueName: string,
    contract: Contract<T>,
    handler: JobHandler<T>,
    options: QueueWorkerOptions<T> = {},
  ): QueueWorker<T> {
    return new QueueWorker<T>(this.getQueue(queueName), handler).configure(contract, options);
  }

  /** A worker's own connection. */
  connectWorker(): RedisClient {
    return this.connect('worker', () => this.gate.holdOffMs());
  }

  workerStarts(worker: StartedWorker): void {
    this.workers.add(worker);
    this.metrics.workerStarts(worker.queue.name);
    void this.presence.start();
    void this.sweeper.start();
    this.sweeper.wake();
  }

  /** The processes of the fleet that showed themselves within the last hour. */
  fleet(): Promise<RosterEntry[]> {
    return this.presence.fleet();
  }

  /** Changes when Redis was restarted or another server took over: what it held may be gone. */
  async runId(): Promise<string> {
    const facts = await this.gate.run('read run id', serverFacts);
    return facts
      .map(({ runId }) => runId)
      .sort()
      .join(',');
  }

  /** Ends workers, sweep, queues and connection, in this order. Idempotent; never waits for a Redis that is away. */
  closeConnections(): Promise<void> {
    return (this.closing ??= this.shutDown());
  }

  private async shutDown(): Promise<void> {
    const inTime = (ending: Promise<void>): Promise<void> =>
      within(CLOSE_MS, ending, () => {}).catch(() => {});
    await Promise.all([...this.workers].map((worker) => worker.stop()));
    await inTime(this.sweeper.stop());
    await inTime(this.presence.stop());
    await Promise.all([...this.made].map((queue) => inTime(queue.close())));
    await this.gate.close(CLOSE_MS);
  }

  private connect(role: 'caller' | 'worker', holdOffMs: () => number): RedisClient {
    const name = `millrace-${this.settings.workerId.replace(/[^\w.-]/g, '-')}`;
    return createRedisClient(this.settings.target, { ...this.settings, role, name, holdOffMs });
  }

  private async sweep(signal: AbortSignal): Promise<void> {
    if (this.gate.state !== 'closed' || !this.gate.ready) return;
    for (const queue of new Set([...this.workers].map((worker) => worker.queue))) {
      await sweepFailedJobs(queue, signal);
      await repairDelays(queue);
    }
  }

  /** The queues that can be asked now, none while Redis is away. */
  readable(): readonly JobQueue[] {
    const away = !this.started || this.closing || this.gate.state !== 'closed' || !this.gate.ready;
    return away ? [] : [...this.queues.values()];
  }
}
