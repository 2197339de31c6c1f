import { readPipeline, type Database } from '#database';
import type { PipelineView, QueueView } from '#dlq-client';
import { outboxCounts } from '#outbox';
import type { QueueManager } from '#queue-manager';
import { systemClock, within, type Clock } from '#service';
import { Renewed } from './renewed.js';
import { readTables, remainingMs, tallyFiles, windowAt, type LetterCount } from './tables.js';

interface OverviewOptions {
  database: Database;
  /** Undefined: there is no Redis to ask. */
  queues?: QueueManager;
  queueNames: readonly string[];
  clock?: Clock;
}

type Live = Pick<PipelineView, 'queues' | 'workers'>;

const REDIS_MS = 1_000;
const NO_REDIS: Live = { queues: null, workers: null };

/**
 * The pipeline at a glance. Cheap at any size: what the tables tell is read at a rate that fits what it costs, and shared by all
 * who ask; a Redis that is away is not waited for.
 */
export class PipelineOverview {
  private readonly counted;
  private readonly live;

  constructor(private readonly options: OverviewOptions) {
    const { clock = systemClock } = options;
    this.counted = new Renewed(clock, () => this.count(clock.now()));
    this.live = new Renewed(clock, () => this.ask());
  }

  /** `scope`: the queues whose letters and jobs may be told of; null: all. */
  async view(scope: readonly string[] | null = null): Promise<PipelineView> {
    const [counted, { queues, workers }] = await Promise.all([this.counted.get(), this.live.get()]);
    const { at, files, bytes, scans, batches, events, throughput } = counted;
    const isSeen = ({ queue }: { queue: string }): boolean => !scope || scope.includes(queue);
    const left = files.pending + files.processing + files.batched;
    return {
      ...counted.pipeline,
      ...{ at, scans, files, bytes, batches, events, throughput },
      queues: queues?.filter(isSeen) ?? null,
      letters: lettersOf(counted.letters.filter(isSeen)),
      remainingMs: remainingMs(left, throughput, at),
      workers: workers?.map((worker) => ({ ...worker, jobs: worker.jobs.filter(isSeen) })) ?? null,
    };
  }

  private async count(at: number) {
    const { database } = this.options;
    const throughput = windowAt(at);
    const row = await database.read(readPipeline);
    const { pending, dead, oldestPendingAgeMs } = await outboxCounts(database);
    return {
      ...{ at, throughput },
      pipeline: { id: row?.id ?? '', destination: row?.destination ?? null },
      events: { pending, dead, oldestPendingMs: oldestPendingAgeMs },
      ...(await readTables(database, throughput)),
      ...(await tallyFiles(database, throughput)),
    };
  }

  private async ask(): Promise<Live> {
    const { queues, queueNames } = this.options;
    if (!queues) return NO_REDIS;
    const asked = Promise.all([Promise.all(queueNames.map((name) => queueOf(queues, name))), queues.fleet()]);
    return within<Live>(
      REDIS_MS,
      asked.then(([views, workers]) => ({ queues: views, workers })),
      () => NO_REDIS,
    ).catch(() => NO_REDIS);
  }
}

export async function queueOf(queues: QueueManager, name: string): Promise<QueueView> {
  const queue = queues.getQueue(name);
  const [{ waiting, active, delayed, failed }, oldestWaitingMs, paused] = await Promise.all([
    queue.counts(),
    queue.oldestWaitingMs(),
    queue.paused(),
  ]);
  return { queue: name, waiting, active, delayed, failed, oldestWaitingMs, paused };
}

function lettersOf(counts: readonly LetterCount[]): PipelineView['letters'] {
  const letters = { open: 0, requeued: 0, resolved: 0, discarded: 0 };
  for (const { status, n } of counts) letters[status] += n;
  return letters;
}
