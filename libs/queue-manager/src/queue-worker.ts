import type { Job, WorkerOptions } from 'bullmq';
import type { Contract } from '#contracts';
import type { RedisClient, RedisGate } from '#redis';
import { backoffMs, down, UP, within, type Health, type Logger, type Service } from '#service';
import { BullWorker, repairOf } from './bull-worker.js';
import { ANY_PAYLOAD } from './enqueuer.js';
import { ErrorLog } from './error-log.js';
import type { JobContext } from './held-job.js';
import { HeldJobs } from './held-jobs.js';
import type { JobOutcome } from './job-outcome.js';
import type { JobQueue } from './job-queue.js';
import { JobRunner, type JobHandler } from './job-runner.js';
import type { Presence } from './presence.js';
import type { QueueMetrics } from './queue-metrics.js';
import type { Settings } from './queue-manager.options.js';
import { Suspects } from './suspects.js';
import { Watchdog } from './watchdog.js';
import { standardOf } from './worker-settings.js';

export interface QueueWorkerOptions<T = unknown> {
  /** Jobs in flight at once; a processor may hold some hundred. */
  concurrency?: number;
  /** How long jobs may take to end by themselves once the worker stops, before they are handed back. */
  drainMs?: number;
  /** Called when intake has stopped: end what can be ended within `drainMs`. */
  onStopping?: () => void;
  /**
   * Whether all that a job calls is under its trace (default), or only the lines of its logger. On Node 20 the first costs
   * every promise of the process, a fifth of the time of small jobs.
   */
  ambientTrace?: boolean;
  /** What the jobs in flight may weigh together (default: no limit), and what one weighs by its unchecked payload. */
  capacity?: number;
  weigh?: (data: unknown) => number;
  /** How many completed jobs are kept, when theirs are large. */
  keepCompleted?: number;
  /**
   * For jobs of several parts: how to divide one into others, after which it is done with. That is called for when its
   * worker died or froze after its `begin` and before it had `passed`, so that the part that kills its process is found.
   */
  divide?(payload: T, context: JobContext): (() => Promise<JobOutcome | void>) | undefined;
}

/** What its manager knows of a worker. */
export type StartedWorker = Pick<QueueWorker, 'name' | 'queueName' | 'active' | 'stop'>;

/** What a worker has from its manager. */
export interface WorkerParts {
  settings: Settings;
  gate: RedisGate;
  metrics: QueueMetrics;
  presence: Presence;
  logger: Logger;
  /** Makes the worker's own connection. */
  connect: () => RedisClient;
  onStarting: (worker: StartedWorker) => void;
  /** A job has failed for good; a hint for the sweep. */
  onFailed: () => void;
}

const DRAIN_MS = 2_500;
const HAND_BACK_MS = 1_000;
const CLOSE_MS = 1_000;

interface Engine {
  bull: BullWorker;
  client: RedisClient;
  held: HeldJobs;
}

/**
 * A worker of one queue. Pauses while the circuit is open, is created anew when it stopped fetching, and on `stop` hands back what
 * does not end in time, so that another worker gets it at once and no attempt is used up.
 * Guarantee: `stop` ends within `drainMs` + 3 s whatever Redis does.
 */
export class QueueWorker<T = unknown> implements Service {
  private state: 'idle' | 'running' | 'stopping' | 'stopped' = 'idle';
  private engine: Engine | undefined;
  private stopped: Promise<void> | undefined;
  private readonly suspects: Suspects;
  private readonly watchdog: Watchdog;
  private readonly errors: ErrorLog;
  private unsubscribe: (() => void) | undefined;
  private contract: Contract<T> = ANY_PAYLOAD as Contract<T>;
  private options: QueueWorkerOptions<T> = {};

  constructor(
    private readonly queue: JobQueue,
    private readonly handler: JobHandler<T>,
    private readonly parts: WorkerParts,
  ) {
    const { gate, presence, settings, logger } = parts;
    this.errors = new ErrorLog(logger);
    this.suspects = new Suspects(gate, presence, () => queue.toKey('delayed'), settings);
    this.watchdog = new Watchdog({
      logger,
      parkedAfterMs: settings.parkedAfterMs,
      busy: () => gate.state !== 'closed' || (this.engine?.held.size ?? 0) > 0,
      waiting: async () => ((await queue.isPaused()) ? 0 : (await queue.counts()).waiting),
      recreate: () => this.recreate(),
    });
  }

  get name(): string {
    return `worker of ${this.queue.name}`;
  }

  get queueName(): string {
    return this.queue.name;
  }

  /** Jobs now in the processor's hands. */
  get active(): number {
    return this.engine?.held.size ?? 0;
  }

  /** What payloads must be, and how many at once; holds from `start` on. */
  configure(contract: Contract<T>, options: QueueWorkerOptions<T>): this {
    this.contract = contract;
    this.options = options;
    return this;
  }

  async start(): Promise<void> {
    if (this.state !== 'idle') return;
    this.state = 'running';
    this.parts.onStarting(this);
    await this.parts.presence.start();
    this.engine = this.launch();
    this.unsubscribe = this.parts.gate.onTransition((state) => this.onBreaker(state));
    if (this.parts.gate.state !== 'closed') this.onBreaker(this.parts.gate.state);
    await this.watchdog.start();
  }

  stop(): Promise<void> {
    this.stopped ??= this.shutDown();
    return this.stopped;
  }

  health(): Health {
    if (this.state !== 'running') return down(`worker is ${this.state}`);
    return this.parts.gate.state === 'closed'
      ? UP
      : down(`paused: Redis circuit is ${this.parts.gate.state}`);
  }

  liveness(): Health {
    return this.watchdog.liveness();
  }

  private async shutDown(): Promise<void> {
    const { presence, metrics, logger } = this.parts;
    const { options, queue } = this;
    this.state = 'stopping';
    this.unsubscribe?.();
    const engine = this.engine;
    if (engine) {
      await within(500, presence.announceStop(), () => {});
      engine.bull.pause(true).catch(() => {});
      options.onStopping?.();
      if (!(await engine.held.drained(options.drainMs ?? DRAIN_MS))) {
        const jobs = engine.held.size;
        const lost = await within(HAND_BACK_MS, engine.held.handBackAll(), () => engine.held.size);
        metrics.handBacks.inc({ queue: queue.name }, jobs - lost);
        logger.info({ handed_back: jobs - lost, lost }, 'handed back unfinished jobs');
      }
      await this.retire(engine);
    }
    await Promise.all([this.watchdog.stop(), presence.stop()]);
    this.state = 'stopped';
  }

  private launch(): Engine {
    const { queue, options, parts } = this;
    const client = parts.connect();
    const held = new HeldJobs(parts.settings.times);
    const bull = new BullWorker(queue.name, this.runnerOf(held).process, this.bullOptions(client), {
      held,
      capacity: options.capacity ?? Infinity,
      weigh: options.weigh ?? (() => 1),
      onFetch: () => this.watchdog.fetched(),
    });
    this.listen(bull);
    void bull.run();
    return { bull, client, held };
  }

  private runnerOf(held: HeldJobs): JobRunner<T> {
    const { queue, options, contract, handler, suspects, parts } = this;
    return new JobRunner<T>({
      ...{ contract, handler, held, suspects, logger: parts.logger, workerId: parts.settings.workerId },
      jobKey: (id) => queue.toKey(id),
      stopping: () => this.state !== 'running',
      observe: parts.metrics.observer(queue.name),
      ambientTrace: options.ambientTrace ?? true,
      divide: (payload, context) => options.divide?.(payload, context),
    });
  }

  private bullOptions(connection: RedisClient): WorkerOptions {
    const { settings } = this.parts;
    const { ageMs, count } = settings.keepCompleted;
    return {
      ...standardOf(settings.times),
      connection,
      prefix: settings.prefixOf(this.queue.name),
      name: settings.workerId,
      concurrency: this.options.concurrency ?? 1,
      removeOnComplete: {
        age: Math.ceil(ageMs / 1_000),
        count: Math.min(count, this.options.keepCompleted ?? Infinity),
      },
      settings: {
        backoffStrategy: (attempts) => backoffMs(attempts - 1, settings.retry, settings.random),
      },
    };
  }

  private listen(bull: BullWorker): void {
    const { onFailed } = this.parts;
    bull.on('error', (error) => {
      if (this.state === 'running') this.errors.error(error, `worker of ${this.queue.name} had an error`);
    });
    // Comes without its job when that is gone, and dies with this process: only a hint.
    bull.on('failed', (job: Job | undefined) => {
      if (!job || job.finishedOn) onFailed();
    });
    bull.on('stalled', (jobId) => void this.repair(jobId).catch(() => {}));
  }

  // A record that BullMQ cannot parse never reaches a processor and stalls for ever: make it fail instead.
  private async repair(jobId: string): Promise<void> {
    const key = this.queue.toKey(jobId);
    await this.parts.gate.run('repair job', async (client) => {
      const [opts, progress, parent] = await client.hmget(key, 'opts', 'progress', 'parent');
      const repair = repairOf({ opts, progress, parent });
      if (repair) await client.hset(key, repair);
    });
  }

  private onBreaker(state: 'closed' | 'open' | 'half-open'): void {
    const bull = this.engine?.bull;
    if (!bull || this.state !== 'running') return;
    this.watchdog.fetched();
    if (state === 'open') bull.pause(true).catch(() => {});
    if (state === 'closed') bull.resume().catch(() => {});
  }

  private async recreate(): Promise<void> {
    const old = this.engine;
    if (!old || this.state !== 'running') return;
    this.parts.metrics.rebuilds.inc({ queue: this.queue.name });
    this.engine = this.launch();
    await this.retire(old);
  }

  private async retire({ bull, client, held }: Engine): Promise<void> {
    const closed = bull.close().then(() => true);
    if (!(await within(CLOSE_MS, closed, () => false).catch(() => false))) await bull.abandon();
    held.dispose();
    client.disconnect();
  }
}
