import { Queue, type Job } from 'bullmq';
import type { Contract } from '#contracts';
import { answersTo, type RedisClient } from '#redis';
import { systemClock } from '#service';
import { bulkJob, type EnqueueItem } from './enqueue.js';
import { EnqueueError } from './errors.js';
import type { QueueManager } from './queue-manager.js';

// One round trip a chunk; small enough that other commands of the connection are not held up.
const ENQUEUED_AT_ONCE = 500;
const LOOKED_UP_AT_ONCE = 1_000;
// The score of a delayed job is its time times this, as BullMQ keeps it.
const SCORE_PER_MS = 4_096;

/** A BullMQ queue behind the circuit breaker, with what apps ask of it, in bounded commands. */
export class JobQueue extends Queue {
  readonly owner: QueueManager;
  private readonly unnamed: Queue['backend'];

  constructor(name: string, { owner }: { owner: QueueManager }) {
    // The gate owns the connection and the manager checks the server. Nothing is written: the prefix is not known yet.
    const connection = owner.gate.client;
    super(name, { connection, skipVersionCheck: true, skipWaitingForReady: true, skipMetasUpdate: true });
    this.owner = owner;
    this.unnamed = this.backend;
    this.on('error', () => {});
    // @nestjs/bullmq hands a worker the token of its queue, not the configured name, and the connection of callers. What it
    // takes for the connection is the queue itself, which knows both.
    Object.assign(this.opts, { connection: this });
    owner.adopt(this);
  }

  /** Queues are made with the container; what their keys begin with is known when the pipeline is. */
  usePrefix(prefix: string): this {
    if (this.opts.prefix === prefix) return this;
    this.opts.prefix = prefix;
    const backend = this.unnamed.forQueue(this.name, prefix);
    return Object.assign(this, { backend, keys: backend.keys, qualifiedName: backend.qualifiedName });
  }

  override async close(): Promise<void> {
    await super.close();
    await this.unnamed.close();
  }

  /** Through the circuit breaker; errors say what was asked of this queue. */
  ask<T>(what: string, call: (client: RedisClient) => Promise<T>): Promise<T> {
    return this.owner.gate.run(`${what} ${this.name}`, call);
  }

  /**
   * Enqueues in chunks. Throws InvalidPayloadError before anything is sent, or EnqueueError naming the ids that were
   * not confirmed; enqueueing the same ids again is harmless. What is not named was accepted by Redis.
   */
  async enqueue<T>(contract: Contract<T>, items: readonly EnqueueItem<T>[]): Promise<void> {
    const jobs = items.map((item) => bulkJob(contract, item, this.owner.settings));
    const failed: string[] = [];
    let cause: unknown;
    for (let at = 0; at < jobs.length; at += ENQUEUED_AT_ONCE) {
      const chunk = jobs.slice(at, at + ENQUEUED_AT_ONCE);
      try {
        await this.ask('enqueue to', () => this.addBulk(chunk));
      } catch (error) {
        cause ??= error;
        failed.push(...chunk.map(({ opts }) => opts.jobId));
      }
    }
    if (failed.length > 0) throw new EnqueueError(this.name, failed, jobs.length - failed.length, cause);
  }

  counts() {
    // Not BullMQ's script, which needs the right to write: some who ask may only read. All of one moment, as there.
    return this.ask('count', async (client) => {
      const all = client.multi();
      for (const state of ['wait', 'active']) all.llen(this.toKey(state));
      for (const state of ['prioritized', 'delayed', 'failed', 'completed']) all.zcard(this.toKey(state));
      const counts = (await answersTo(all)) as [number, number, number, number, number, number];
      const [wait, active, prioritized, delayed, failed, completed] = counts;
      return { waiting: wait + prioritized, active, delayed, failed, completed };
    });
  }

  /** Jobs still to be done: they wait, run or were put off. */
  async unfinished(): Promise<number> {
    const { waiting, active, delayed } = await this.counts();
    return waiting + active + delayed;
  }

  /** Whether an operator has paused it: jobs wait and nobody takes them. */
  paused(): Promise<boolean> {
    return this.ask('state of', () => this.isPaused());
  }

  /** For all workers, until told otherwise or until Redis begins empty. Jobs that run come to their end. */
  setPaused(paused: boolean): Promise<void> {
    return paused ? this.ask('pause', () => this.pause()) : this.ask('resume', () => this.resume());
  }

  /**
   * The jobs that are put off, after a failure or because the world was away; those that are due next first, without their
   * data, which may be large.
   */
  delayed(limit: number) {
    return this.ask('delayed jobs of', async (client) => {
      const ids = await client.zrange(this.toKey('delayed'), 0, limit - 1);
      const jobs = await Promise.all(
        ids.map(async (id) => {
          const [score, [name, timestamp, attempts, error]] = await Promise.all([
            client.zscore(this.toKey('delayed'), id),
            client.hmget(this.toKey(id), 'name', 'timestamp', 'atm', 'failedReason'),
          ]);
          const nextAttemptAt = Math.floor(Number(score) / SCORE_PER_MS);
          const facts = { enqueuedAt: Number(timestamp), attemptsMade: Number(attempts ?? 0) };
          return name && score ? [{ id, name, nextAttemptAt, lastError: error ?? null, ...facts }] : [];
        }),
      );
      return jobs.flat();
    });
  }

  /** Makes a job that is put off due now; false when it is not, or no longer. */
  promote(id: string): Promise<boolean> {
    return this.ask('promote a job of', async (client) => {
      if ((await client.zscore(this.toKey('delayed'), id)) === null) return false;
      const job = (await this.getJob(id)) as Job | undefined;
      await job?.promote();
      return job !== undefined;
    });
  }

  /** How long the job that is next in line has waited since it was enqueued; 0 when none waits. */
  oldestWaitingMs(): Promise<number> {
    const now = systemClock.now();
    return this.ask('age of', async (client) => {
      // Jobs are pushed on the left of `wait` and taken from its right.
      const [next, first] = await Promise.all([
        client.lindex(this.toKey('wait'), -1),
        client.zrange(this.toKey('prioritized'), 0, 0),
      ]);
      const times = await Promise.all(
        [next, first[0]]
          .filter((id): id is string => typeof id === 'string')
          .map((id) => client.hget(this.toKey(id), 'timestamp')),
      );
      return times.reduce((oldest, time) => Math.max(oldest, time === null ? 0 : now - Number(time)), 0);
    });
  }

  /** Which of the ids have a job, in whatever state; a key alone is none, something may have been left at that of a lost job. */
  existing(ids: readonly string[]): Promise<Set<string>> {
    return this.lookUp(ids, (pipeline, id) => pipeline.hexists(this.toKey(id), 'timestamp'));
  }

  /** Which of the ids have a completed job. BullMQ's own question for a state reads the whole waiting list for each job. */
  completed(ids: readonly string[]): Promise<Set<string>> {
    return this.lookUp(ids, (pipeline, id) => pipeline.zscore(this.toKey('completed'), id));
  }

  /**
   * Which of the ids have a job still to be done, or failed. A completed one is removed, so that its id does not keep out
   * a new job.
   */
  async existingAfterRemovingCompleted(ids: readonly string[]): Promise<Set<string>> {
    const existing = await this.existing(ids);
    for (const id of await this.completed([...existing])) {
      await this.ask('remove a job of', () => this.remove(id));
      existing.delete(id);
    }
    return existing;
  }

  /** The ids for which Redis answers the question with something. */
  private async lookUp(
    ids: readonly string[],
    question: (pipeline: ReturnType<RedisClient['pipeline']>, id: string) => void,
  ): Promise<Set<string>> {
    const found = new Set<string>();
    for (let at = 0; at < ids.length; at += LOOKED_UP_AT_ONCE) {
      const chunk = ids.slice(at, at + LOOKED_UP_AT_ONCE);
      const answers = await this.ask('look up jobs of', (client) => {
        const pipeline = client.pipeline();
        for (const id of chunk) question(pipeline, id);
        return answersTo(pipeline);
      });
      for (const [index, id] of chunk.entries()) if (answers[index]) found.add(id);
    }
    return found;
  }
}
