import { QueueEvents } from 'bullmq';
import { Database } from '#database';
import { appendAll } from '#outbox';
import { Metrics, silentLogger, sleep } from '#service';
import { spawnApp } from '../libs/testing/src/child.js';
import { pipelineRedis } from '../libs/testing/src/pipeline-redis.js';

export interface LatencyOptions {
  databaseUrl: string;
  redisUrl: string;
  eventsPerSecond: number;
}

const QUEUE = 'bench-latency';
const SECONDS = 5;
const EVERY_MS = 50;

/** From the end of the commit to the event of BullMQ that tells of the job, with the publisher in a process of its own. */
export async function measureLatency(options: LatencyOptions): Promise<{ p50: number; p99: number }> {
  const database = new Database({ url: options.databaseUrl, logger: silentLogger, metrics: new Metrics() });
  await database.start();
  const publisher = spawnApp('outbox-publisher', {
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl,
    LOG_FORMAT: 'json',
  });
  await publisher.output('outbox-publisher started', 60_000);
  const visible = new Map<string, number>();
  const { prefix } = await pipelineRedis({ url: options.redisUrl }, options.databaseUrl);
  const events = new QueueEvents(QUEUE, { connection: { url: options.redisUrl }, prefix });
  events.on('added', ({ jobId }) => visible.set(jobId, performance.now()));
  await events.waitUntilReady();
  try {
    const committed = await commitSteadily(database, options.eventsPerSecond);
    while ([...committed.keys()].some((id) => !visible.has(id))) await sleep(20);
    return quantiles([...committed].map(([id, at]) => Math.max(0, (visible.get(id) ?? Infinity) - at)));
  } finally {
    await events.close();
    await publisher.end('SIGTERM');
    await database.stop();
  }
}

async function commitSteadily(database: Database, eventsPerSecond: number): Promise<Map<string, number>> {
  const committed = new Map<string, number>();
  const atOnce = Math.max(1, Math.round((eventsPerSecond * EVERY_MS) / 1_000));
  const begun = performance.now();
  for (let next = begun; next < begun + SECONDS * 1_000; next += EVERY_MS) {
    await sleep(Math.max(0, next - performance.now()));
    const some = Array.from({ length: atOnce }, (_, n) => ({ queue: QUEUE, payload: { n } }));
    const ids = await database.inTransaction((tx) => appendAll(tx, some));
    for (const id of ids) committed.set(`e-${id}`, performance.now());
  }
  return committed;
}

function quantiles(values: number[]): { p50: number; p99: number } {
  values.sort((a, b) => a - b);
  const at = (share: number): number =>
    values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}
