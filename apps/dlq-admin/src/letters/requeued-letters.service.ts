import { Inject, Injectable } from '@nestjs/common';
import { QueueManager } from '#queue-manager';
import { CLOCK, LOGGER, Loop, Metrics, recordSpan, type Clock, type Logger } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { RequeuedLettersRepository } from './requeued-letters.repository.js';
import type { FileProgress, Position, RequeuedLetter, Resolution } from './requeued-letters.repository.js';

const EVERY_MS = 2_000;
const PAGE = 500;
const FIRST: Position = { replayedAt: 0, letterId: 0 };
const LOST_AFTER_MS = 60_000;
// To look for jobs in Redis costs more than to look at rows, and a loss is rare.
const WALKS_PER_SEARCH = 8;

/**
 * Follows requeued letters until their outcome is known. Resolved is a file's when its file is no longer failed, a batch's when it
 * was delivered, another's when its job is among the completed ones; only hints are missed, since who fails again reopens its letter.
 * A file's job that Redis has lost (flushed, failed over) is offered again under the same id, however long ago that was: such a file
 * would stay failed with nobody to tell why. Batches need none of that: the outbox confirms those by their inbox.
 */
@Injectable()
export class RequeuedLetters extends Loop {
  private readonly resolved;
  private readonly lost;
  private position = FIRST;
  private walks = 0;

  constructor(
    private readonly repository: RequeuedLettersRepository,
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'requeued letters', logger, idleMs: EVERY_MS });
    this.resolved = metrics.counter({
      name: 'millrace_dlq_letters_resolved_total',
      help: 'Requeued letters whose job has succeeded.',
    });
    this.lost = metrics.counter({
      name: 'millrace_dlq_redrives_lost_total',
      help: 'Requeued jobs that Redis lost and that were offered again.',
    });
  }

  override async tick(): Promise<boolean> {
    const more = await this.follow(this.walks % WALKS_PER_SEARCH === 0 ? LOST_AFTER_MS : Infinity);
    if (!more) this.walks++;
    return more;
  }

  /** A page of the walk, which begins anew when it has come to the end. Returns whether it has not. */
  async follow(lostAfterMs: number): Promise<boolean> {
    const { PATH_DISCOVERY_QUEUE } = this.config;
    const page = await this.repository.page(PATH_DISCOVERY_QUEUE, this.position, PAGE);
    const last = page.length === PAGE ? page.at(-1) : undefined;
    this.position = last ?? FIRST;
    const files = page.filter(({ queue }) => queue === PATH_DISCOVERY_QUEUE);
    const progress = await this.repository.filesOf(files);
    await this.resolve(page, await this.succeeded(page, progress));
    const before = this.clock.now() - lostAfterMs;
    await this.offerLost(files.filter((one) => one.replayedAt < before && isWaiting(one, progress)));
    return last !== undefined;
  }

  private async succeeded(
    page: readonly RequeuedLetter[],
    progress: ReadonlyMap<number, FileProgress>,
  ): Promise<Resolution[]> {
    const { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE } = this.config;
    const others = page.filter(({ queue }) => queue !== PATH_DISCOVERY_QUEUE && queue !== ANALYSIS_QUEUE);
    const completed = await this.completed(others);
    const now = this.clock.now();
    return page.flatMap((letter) => {
      const { letterId, replay, queue, jobId, batchId, deliveredAt } = letter;
      if (queue === ANALYSIS_QUEUE)
        return batchId && deliveredAt ? [{ letterId, replay, at: deliveredAt, by: batchId }] : [];
      if (queue === PATH_DISCOVERY_QUEUE ? isWaiting(letter, progress) : !completed.has(letter)) return [];
      return [{ letterId, replay, at: now, by: progress.get(letterId)?.batch ?? jobId }];
    });
  }

  /** Redis may be away, or the queue not ours to read: then nothing is known. */
  private async completed(letters: readonly RequeuedLetter[]): Promise<Set<RequeuedLetter>> {
    const queues = [...new Set(letters.map(({ queue }) => queue))];
    const found = queues.map(async (queue) => {
      const own = letters.filter((letter) => letter.queue === queue);
      const asked = this.queues.getQueue(queue).completed(own.map(({ jobId }) => jobId));
      const done = await asked.catch(() => new Set<string>());
      return own.filter(({ jobId }) => done.has(jobId));
    });
    return new Set((await Promise.all(found)).flat());
  }

  private async resolve(page: readonly RequeuedLetter[], found: readonly Resolution[]): Promise<void> {
    if (found.length === 0) return;
    const letters = await this.repository.resolve(found);
    for (const { letterId, replay, replayedAt, trace } of page)
      if (letters.has(letterId)) {
        const attributes = { 'millrace.letter_id': letterId, 'millrace.replay': replay };
        recordSpan({ name: 'redrive', parent: trace, startedAt: replayedAt, attributes });
      }
    this.resolved.inc(letters.size);
    if (letters.size > 0) this.logger.info({ letters: letters.size }, 'requeued letters are resolved');
  }

  /** Those with no job, while the dead-letter queue holds nothing that could be their failure. */
  private async offerLost(waiting: readonly RequeuedLetter[]): Promise<void> {
    if (waiting.length === 0) return;
    const jobs = this.queues.getQueue(this.config.PATH_DISCOVERY_QUEUE);
    const existing = await jobs.existing(waiting.map(({ jobId }) => jobId));
    const gone = waiting.filter(({ jobId }) => !existing.has(jobId));
    if (gone.length === 0 || (await this.queues.deadLetters.count()) > 0) return;
    // Once more: a job that is gone may have ended since its file was looked at.
    const progress = await this.repository.filesOf(gone);
    for (const letter of gone.filter((one) => isWaiting(one, progress)))
      if (await this.repository.offerAgain(letter, this.clock.now())) {
        this.lost.inc();
        const facts = { letter: letter.letterId, job_id: letter.jobId };
        this.logger.warn(facts, 'Redis lost a requeued job; it is offered again');
      }
  }
}

const isWaiting = ({ letterId }: RequeuedLetter, progress: ReadonlyMap<number, FileProgress>): boolean =>
  progress.get(letterId)?.waiting ?? false;
