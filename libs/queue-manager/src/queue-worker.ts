import type { Job, WorkerOptions } from 'bullmq';
import type { Contract } from '#contracts';
import type { BreakerState } from '#redis';
import { backoffMs, down, UP, within, type Health, type Logger, type Service } from '#service';
import { BullWorker, repairOf } from './bull-worker.js';
import { ANY_PAYLOAD } from './enqueue.js';
import { ErrorLog } from './error-log.js';
import type { JobContext, JobHandler } from './held-job.js';
import type { JobOutcome } from './job-outcome.js';
import type { JobQueue } from './job-queue.js';
import type { QueueManager } from './queue-manager.js';
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
  /** Whether all that a job calls is under its trace (default), or only the lines of its logger: when jobs share their work. */
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

const DRAIN_MS = 2_500;
const HAND_BACK_MS = 1_000;
const CLOSE_MS = 1_000;

/**
 * A worker of one queue. Pauses while the circuit is open, is created anew when it stopped fetching, and on `stop` hands back what
 * does not end in time, so that another worker gets it at once and no attempt is used up.
 * Guarantee: `stop` ends within `drainMs` + 3 s whatever Redis does.
 */
export class QueueWorker<T = unknown> implements Service {
  readonly name: string;
  private readonly manager: QueueManager;
  readonly logger: Logger;
  private state: 'idle' | 'running' | 'stopping' | 'stopped' = 'idle';
  private bull: BullWorker<T> | undefined;
  private stopped: Promise<void> | undefined;
  readonly suspects: Suspects;
  readonly watchdog: Watchdog;
  private readonly errors: ErrorLog;
  private unsubscribe: (() => void) | undefined;
  contract: Contract<T> = ANY_PAYLOAD as Contract<T>;
  options: QueueWorkerOptions<T> = {};

  constructor(
    readonly queue: JobQueue,
    readonly handler: JobHandler<T>,
  ) {
    this.name = `worker of ${queue.name}`;
    this.manager = queue.owner;
    this.logger = this.manager.settings.logger.child({ queue: queue.name });
    this.errors = new ErrorLog(this.logger);
    this.suspects = new Suspects(queue, this.manager.presence);
    this.watchdog = new Watchdog(this);
  }

  /** Jobs now in the processor's hands. */
  get active(): number {
    return this.bull?.active ?? 0;
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
    this.manager.workerStarts(this);
    this.bull = this.launch();
    const { gate } = this.manager;
    this.unsubscribe = gate.onTransition((state) => this.onBreaker(state));
    if (gate.state !== 'closed') this.onBreaker(gate.state);
    await this.watchdog.start();
  }

  stop(): Promise<void> {
    return (this.stopped ??= this.shutDown());
  }

  health(): Health {
    if (this.state !== 'running') return down(`worker is ${this.state}`);
    const { state } = this.manager.gate;
    return state === 'closed' ? UP : down(`paused: Redis circuit is ${state}`);
  }

  liveness(): Health {
    return this.watchdog.liveness();
  }

  private async shutDown(): Promise<void> {
    this.state = 'stopping';
    this.unsubscribe?.();
    if (this.bull) await this.retire(this.bull);
    await this.watchdog.stop();
    this.state = 'stopped';
  }

  /** Stops intake, lets jobs end, hands back the others. */
  private async retire(bull: BullWorker<T>): Promise<void> {
    bull.refusing = true;
    await within(500, this.manager.presence.announceStop(), () => {});
    bull.pause(true).catch(() => {});
    this.options.onStopping?.();
    if (!(await bull.isEmptyWithin(this.options.drainMs ?? DRAIN_MS))) {
      const jobs = bull.active;
      const lost = await within(HAND_BACK_MS, bull.handBackAll(), () => bull.active);
      this.manager.metrics.handBacks.inc({ queue: this.queue.name }, jobs - lost);
      this.logger.info({ handed_back: jobs - lost, lost }, 'handed back unfinished jobs');
    }
    await bull.end(CLOSE_MS);
  }

  private launch(): BullWorker<T> {
    const bull = new BullWorker(this, this.bullOptions(), this.manager.connectWorker());
    this.listen(bull);
    void bull.run();
    return bull;
  }

  private bullOptions(): Omit<WorkerOptions, 'connection'> {
    const { settings } = this.manager;
    const { ageMs, count } = settings.keepCompleted;
    return {
      ...standardOf(settings.times),
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

  private listen(bull: BullWorker<T>): void {
    bull.on('error', (error) => {
      if (this.state === 'running') this.errors.error(error, `${this.name} had an error`);
    });
    // Comes without its job when that is gone, and dies with this process: only a hint.
    bull.on('failed', (job: Job | undefined) => {
      if (!job || job.finishedOn) this.manager.sweeper.wake();
    });
    bull.on('stalled', (jobId) => void this.repair(jobId).catch(() => {}));
  }

  // A record that BullMQ cannot parse never reaches a processor and stalls for ever: make it fail instead.
  private async repair(jobId: string): Promise<void> {
    const key = this.queue.toKey(jobId);
    await this.queue.ask('repair job of', async (client) => {
      const [opts, progress, parent] = await client.hmget(key, 'opts', 'progress', 'parent');
      const repair = repairOf({ opts, progress, parent });
      if (repair) await client.hset(key, repair);
    });
  }

  private onBreaker(state: BreakerState['state']): void {
    if (!this.bull || this.state !== 'running') return;
    this.watchdog.fetched();
    if (state === 'open') this.bull.pause(true).catch(() => {});
    if (state === 'closed') this.bull.resume().catch(() => {});
  }

  /** Gives it another connection and another fetch loop; the jobs in hand end in the old. */
  async recreate(): Promise<void> {
    const old = this.bull;
    if (!old || this.state !== 'running') return;
    this.manager.metrics.recreations.inc({ queue: this.queue.name });
    this.bull = this.launch();
    await old.end(CLOSE_MS);
  }
}
