import { QUEUE } from '#contracts';
import { QueueManager } from '#queue-manager';
import { Metrics } from '#service';
import { pipelinePrefix, queryRows, readPipeline, type Database } from '#database';
import { readCounts, type FleetCounts } from '#proof';
import { bytes, count, duration, table } from '../output/table.js';
import { cliLogger } from '../settings.js';

interface QueueStatus {
  queue: string;
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
  oldestWaitingMs: number;
}

interface WorkerStatus {
  workerId: string;
  claims: number;
}

export interface Status {
  counts: FleetCounts;
  oldestPendingEventMs: number;
  workers: WorkerStatus[];
  /** Undefined when there is no Redis to ask. */
  queues: QueueStatus[] | undefined;
}

/** Looks once; changes nothing. */
export async function readStatus(database: Database, redisUrl: string | undefined): Promise<Status> {
  const row = await database.read(readPipeline);
  return {
    counts: await readCounts(database),
    ...(await readLag(database)),
    queues: redisUrl && row ? await readQueues(redisUrl, row.id) : undefined,
  };
}

async function readLag(database: Database): Promise<Pick<Status, 'oldestPendingEventMs' | 'workers'>> {
  return database.read(async (manager) => {
    const [oldest] = await queryRows<{ at: number | null }>(
      manager,
      "SELECT min(created_at) AS at FROM outbox WHERE status = 'PENDING'",
    );
    const workers = await queryRows<{ worker: string; claims: number }>(
      manager,
      `SELECT worker_id AS worker, count(*) AS claims FROM files
       WHERE status = 'processing' AND removed = 0 GROUP BY worker_id ORDER BY worker_id`,
    );
    return {
      oldestPendingEventMs: oldest?.at ? Math.max(0, Date.now() - Number(oldest.at)) : 0,
      workers: workers.map(({ worker, claims }) => ({ workerId: worker, claims: Number(claims) })),
    };
  });
}

async function readQueues(url: string, id: string): Promise<QueueStatus[]> {
  const queues = new QueueManager({
    url,
    prefix: pipelinePrefix('{millrace}', id),
    workerId: 'cli',
    logger: cliLogger(),
    metrics: new Metrics(),
    evictionPolicy: 'warn',
  });
  try {
    await queues.start();
    return await Promise.all(
      Object.values(QUEUE).map(async (queue) => {
        const { waiting, active, delayed, failed } = await queues.getQueue(queue).counts();
        return {
          queue,
          waiting,
          active,
          delayed,
          failed,
          oldestWaitingMs: await queues.getQueue(queue).oldestWaitingMs(),
        };
      }),
    );
  } finally {
    await queues.closeConnections();
  }
}

export function statusReport({ counts, queues, workers, oldestPendingEventMs }: Status): string {
  const files = Object.entries(counts.files)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([status, n]) => [status, n, bytes(counts.bytes[status] ?? 0)]);
  const parts = [
    table(['FILES', 'COUNT', 'SIZE'], files),
    `Batches ${count(counts.batches)}, not delivered ${count(counts.batchesOpen)}; tokens ${count(counts.tokens)}
Events pending ${count(counts.eventsPending)} (oldest ${duration(oldestPendingEventMs)}), dead ${count(counts.eventsDead)}; open dead letters ${count(counts.lettersOpen)}
`,
    queues
      ? table(
          ['QUEUE', 'WAITING', 'ACTIVE', 'DELAYED', 'FAILED', 'OLDEST'],
          queues.map((q) => [q.queue, q.waiting, q.active, q.delayed, q.failed, duration(q.oldestWaitingMs)]),
        )
      : 'Queues: no fleet is running here (set MILLRACE_REDIS_URL to look at one elsewhere)\n',
    ...(workers.length > 0
      ? [
          table(
            ['WORKER', 'CLAIMS'],
            workers.map(({ workerId, claims }) => [workerId, claims]),
          ),
        ]
      : []),
  ];
  return parts.join('\n');
}
