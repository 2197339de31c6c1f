import { Inject, Injectable } from '@nestjs/common';
import { QueueManager } from '#queue-manager';
import { CLOCK, LOGGER, Loop, recordSpan, type Clock, type Logger, Metrics, type Service } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import {
  RedrivesRepository,
  type Position,
  type Resolution,
  type Unresolved,
} from './redrives.repository.js';

const EVERY_MS = 2_000;
const PAGE = 500;
const FIRST: Position = { replayedAt: 0, letterId: 0 };

/**
 * Marks requeued letters resolved once their job has succeeded, with when and by what. A file's: its file is no longer failed. A
 * batch's: it was delivered. Another's: its job is among the completed ones. Only hints are missed: who fails again reopens its letter.
 */
@Injectable()
export class Resolutions implements Service {
  readonly name = 'resolutions';
  private readonly loop: Loop;
  private readonly resolved;
  private position = FIRST;

  constructor(
    private readonly redrives: RedrivesRepository,
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.resolved = metrics.counter({
      name: 'millrace_dlq_letters_resolved_total',
      help: 'Requeued letters whose job has succeeded.',
    });
    this.loop = new Loop({ name: this.name, logger, idleMs: EVERY_MS, tick: () => this.tick() });
  }

  start(): Promise<void> {
    return this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** A page of the walk through the requeued letters, which begins anew when it has come to the end. */
  async tick(): Promise<boolean> {
    const page = await this.redrives.unresolved(this.config.PATH_DISCOVERY_QUEUE, this.position, PAGE);
    const last = page.length === PAGE ? page.at(-1) : undefined;
    this.position = last ?? FIRST;
    const found = await this.succeeded(page);
    if (found.length > 0) await this.mark(found, page);
    return last !== undefined;
  }

  private async mark(found: readonly Resolution[], page: readonly Unresolved[]): Promise<void> {
    const letters = await this.redrives.resolve(found);
    for (const { letterId, replay, replayedAt, trace } of page.filter((one) =>
      letters.includes(one.letterId),
    ))
      recordSpan({
        ...{ name: 'redrive', parent: trace, startedAt: replayedAt },
        attributes: { 'millrace.letter_id': letterId, 'millrace.replay': replay },
      });
    this.resolved.inc(letters.length);
    if (letters.length > 0) this.logger.info({ letters: letters.length }, 'requeued letters are resolved');
  }

  private async succeeded(page: readonly Unresolved[]): Promise<Resolution[]> {
    const { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE } = this.config;
    const of = (queue: string): Unresolved[] => page.filter((letter) => letter.queue === queue);
    const others = page.filter(({ queue }) => queue !== PATH_DISCOVERY_QUEUE && queue !== ANALYSIS_QUEUE);
    return [
      ...(await this.files(of(PATH_DISCOVERY_QUEUE))),
      ...of(ANALYSIS_QUEUE).flatMap(({ letterId, replay, batchId, deliveredAt }) =>
        batchId && deliveredAt ? [{ letterId, replay, at: deliveredAt, by: batchId }] : [],
      ),
      ...(await this.completed(others)),
    ];
  }

  private async files(letters: readonly Unresolved[]): Promise<Resolution[]> {
    const waiting = new Set((await this.redrives.unsettled(letters)).map(({ letterId }) => letterId));
    const settled = letters.filter(({ letterId }) => !waiting.has(letterId));
    const batches = await this.redrives.batchesOf(settled);
    return settled.map(({ letterId, replay, jobId }) => ({
      ...{ letterId, replay, at: this.clock.now(), by: batches.get(letterId) ?? jobId },
    }));
  }

  /** Redis may be away, or the queue not ours to read: then nothing is known. */
  private async completed(letters: readonly Unresolved[]): Promise<Resolution[]> {
    const queues = [...new Set(letters.map(({ queue }) => queue))];
    const found = queues.map(async (queue) => {
      const own = letters.filter((letter) => letter.queue === queue);
      const done = await this.queues
        .getQueue(queue)
        .completed(own.map(({ jobId }) => jobId))
        .catch(() => new Set<string>());
      return own.filter(({ jobId }) => done.has(jobId));
    });
    return (await Promise.all(found)).flat().map(({ letterId, replay, jobId }) => ({
      ...{ letterId, replay, at: this.clock.now(), by: jobId },
    }));
  }
}
