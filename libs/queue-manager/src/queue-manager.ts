import { randomBytes } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Contract } from '#contracts';
import {
  type RedisClient,
  RedisGate,
  type RedisTarget,
  checkServers,
  createRedisClient,
  parseRedisUrl,
  serverFacts,
} from '#redis';
import { Loop, systemClock, within, type Health, type Service } from '#service';
import { DeadLetterSweep } from './dead-letter-sweep.js';
import { repairDelays } from './delay-repair.js';
import { Enqueuer, type EnqueueItem, type EnqueueOptions } from './enqueuer.js';
import { ManagerClosedError } from './errors.js';
import type { JobProcessor } from './job-runner.js';
import { Presence } from './presence.js';
import { withDefaults, type QueueManagerOptions, type Settings } from './queue-manager.options.js';
import { QueueMetrics, type QueueSnapshot } from './queue-metrics.js';
import { QueueStats, type QueueCounts } from './queue-stats.js';
import { QueueWorker, type QueueWorkerOptions } from './queue-worker.js';

const CONNECT_MS = 5_000;
const CLOSE_MS = 1_000;
const SNAPSHOT_MS = 1_000;

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
  private readonly target: RedisTarget;
  private readonly gate: RedisGate;
  private readonly metrics: QueueMetrics;
  private readonly stats: QueueStats;
  private readonly enqueuer: Enqueuer;
  private readonly sweeper: Loop;
  private readonly queues = new Map<string, Queue>();
  private readonly workers = new Set<Service>();
  private readonly swept = new Set<string>();
  private closing: Promise<void> | undefined;
  private snapshot: { at: number; value: Promise<readonly QueueSnapshot[]> } | undefined;

  constructor(options: QueueManagerOptions) {
    this.target = parseRedisUrl(options.url);
    this.settings = withDefaults(options, this.target);
    const { settings } = this;
    const { logger, breaker, random, deadLetterQueue } = settings;
    this.metrics = new QueueMetrics(options.metrics, deadLetterQueue, () => this.queueSnapshot());
    this.gate = new RedisGate((holdOffMs) => this.connect('caller', holdOffMs), {
      breaker,
      logger,
      random,
      get probeKey() {
        return `${settings.prefix}:probe`;
      },
      onReconnect: () => this.metrics.reconnecting(),
      onTransition: (state) => this.metrics.breakerMoved(state),
    });
    this.stats = new QueueStats(this.gate);
    this.enqueuer = new Enqueuer(this.gate, this.settings);
    this.sweeper = this.createSweeper();
  }

  /** Connects and checks the server. Rejects when Redis is not there yet; may be called again then. */
  async start(signal?: AbortSignal): Promise<void> {
    const { haste, logger } = this.settings;
    if (haste !== 1) logger.warn({ haste }, 'the times of workers are shortened; this is for tests only');
    await this.gate.connected(CONNECT_MS / haste, signal);
    const facts = await this.gate.run('read server facts', serverFacts);
    checkServers(facts, this.settings.evictionPolicy, this.settings.logger);
  }

  stop(): Promise<void> {
    return this.closeConnections();
  }

  health(): Promise<Health> {
    return this.gate.health();
  }

  /** The queue of that name; one instance a name. */
  getQueue(name: string): Queue {
    if (this.closing) throw new ManagerClosedError();
    const known = this.queues.get(name);
    if (known) return known;
    const queue = new Queue(name, {
      connection: this.gate.client,
      prefix: this.settings.prefix,
      // The gate owns the connection and `start` checks the server.
      skipVersionCheck: true,
      skipWaitingForReady: true,
    });
    queue.on('error', () => {});
    this.queues.set(name, queue);
    return queue;
  }

  enqueueJob<T>(queue: string, contract: Contract<T>, payload: T, options: EnqueueOptions): Promise<void> {
    return this.enqueueJobs(queue, contract, [{ ...options, payload }]);
  }

  /**
   * Enqueues in chunks. Throws InvalidPayloadError before anything is sent, or EnqueueError naming the ids that were
   * not confirmed; enqueueing the same ids again is harmless.
   */
  async enqueueJobs<T>(
    queue: string,
    contract: Contract<T>,
    items: readonly EnqueueItem<T>[],
  ): Promise<void> {
    if (items.length > 0) await this.enqueuer.enqueue(this.getQueue(queue), contract, items);
  }

  /** A worker of the queue, not yet started: call its `start`. `stop` or `closeConnections` ends it. */
  createWorker<T>(
    queueName: string,
    contract: Contract<T>,
    processor: JobProcessor<T>,
    options: QueueWorkerOptions = {},
  ): QueueWorker<T> {
    const { settings, gate, stats, metrics } = this;
    const worker = new QueueWorker<T>({
      queue: this.getQueue(queueName),
      contract,
      processor,
      options,
      settings,
      gate,
      stats,
      metrics,
      logger: settings.logger.child({ queue: queueName }),
      presence: new Presence(gate, this.presenceKey(), settings.times, settings.logger),
      connect: () => this.connect('worker', () => 0),
      onFailed: () => this.sweeper.wake(),
    });
    this.workers.add(worker);
    this.sweepAlso(queueName);
    return worker;
  }

  counts(queue: string): Promise<QueueCounts> {
    return this.stats.counts(this.getQueue(queue));
  }

  oldestWaitingMs(queue: string): Promise<number> {
    return this.stats.oldestWaitingMs(this.getQueue(queue), systemClock.now());
  }

  /** Which of the ids have a job in the queue, in whatever state. */
  jobExists(queue: string, ids: readonly string[]): Promise<Set<string>> {
    return this.stats.existing(this.getQueue(queue), ids);
  }

  /** Which of the ids have a job that completed. */
  completedJobs(queue: string, ids: readonly string[]): Promise<Set<string>> {
    return this.stats.completed(this.getQueue(queue), ids);
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
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => worker.stop()));
    await within(CLOSE_MS, this.sweeper.stop(), () => {});
    await Promise.all(
      [...this.queues.values()].map((queue) =>
        within(
          CLOSE_MS,
          queue.close().catch(() => {}),
          () => {},
        ),
      ),
    );
    await this.gate.close(CLOSE_MS);
  }

  private connect(role: 'caller' | 'worker', holdOffMs: () => number): RedisClient {
    const { tls, reconnect, commandTimeoutMs, random, workerId } = this.settings;
    return createRedisClient(this.target, {
      role,
      name: `millrace-${workerId.replace(/[^\w.-]/g, '-')}`,
      tls,
      reconnect,
      commandTimeoutMs,
      random,
      holdOffMs,
    });
  }

  private presenceKey(): string {
    return `${this.settings.prefix}:presence:${this.settings.workerId}:${randomBytes(6).toString('hex')}`;
  }

  private createSweeper(): Loop {
    const sweep = (): DeadLetterSweep =>
      new DeadLetterSweep({
        gate: this.gate,
        enqueuer: this.enqueuer,
        deadLetterQueue: this.getQueue(this.settings.deadLetterQueue),
        logger: this.settings.logger,
        onDeadLettered: (queue, reason) => this.metrics.deadLettered(queue, reason),
      });
    return new Loop({
      name: 'dead-letter sweep',
      logger: this.settings.logger,
      idleMs: this.settings.sweepIntervalMs,
      tick: async (signal) => {
        if (this.gate.state !== 'closed' || !this.gate.ready) return;
        for (const name of this.swept) {
          await sweep().sweep(this.getQueue(name), signal);
          await repairDelays(this.gate, this.getQueue(name), this.settings.logger);
        }
      },
    });
  }

  private sweepAlso(queueName: string): void {
    this.swept.add(queueName);
    void this.sweeper.start();
    this.sweeper.wake();
  }

  private queueSnapshot(): Promise<readonly QueueSnapshot[]> {
    const now = systemClock.monotonic();
    if (!this.snapshot || now - this.snapshot.at > SNAPSHOT_MS)
      this.snapshot = { at: now, value: this.readSnapshot().catch(() => []) };
    return this.snapshot.value;
  }

  private async readSnapshot(): Promise<QueueSnapshot[]> {
    if (this.closing || this.gate.state !== 'closed' || !this.gate.ready) return [];
    return Promise.all(
      [...this.queues.keys()].map(async (queue) => ({
        queue,
        ...(await this.counts(queue)),
        oldestWaitingMs: await this.oldestWaitingMs(queue),
      })),
    );
  }
}
