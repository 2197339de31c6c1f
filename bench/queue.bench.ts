import { Queue, Worker } from 'bullmq';
import { FILE_JOB, type FileJob } from '#contracts';
import { QueueManager } from '#queue-manager';
import { createRedisClient, parseRedisUrl } from '#redis';
import { Metrics, silentLogger } from '#service';
// Not by '#testing': its index needs Jest.
import { startRedis } from '../libs/testing/src/redis-server.js';
import { report } from './report.js';

// What QueueManager costs over BullMQ itself: the same jobs, the same options, the same Redis, in turns.
// Rounds in turns, long enough that starting a worker does not count; the better ones are those in which nobody else ran.
const ROUNDS = 10;
const JOBS = 10_000;
const CONCURRENCY = 200;
const AIM = 0.9;

const redis = await startRedis();
const prefix = '{bench}';
const manager = new QueueManager({
  url: redis.url,
  prefix,
  workerId: 'bench',
  logger: silentLogger,
  metrics: new Metrics(),
});
await manager.start();
const client = createRedisClient(parseRedisUrl(redis.url), { role: 'caller', name: 'raw' });
const watcher = createRedisClient(parseRedisUrl(redis.url), { role: 'worker', name: 'watcher' });

const payload = (index: number): FileJob => ({
  filePath: `/data/project/src/module-${index % 100}/file-${index}.ts`,
  fileSize: index,
  fileId: index + 1,
  revision: 1,
  trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
});
const OPTIONS = { attempts: 5, backoff: { type: 'jittered' } };
const CHUNK = 1_000;

async function timed(work: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.();
  const startedAt = performance.now();
  await work();
  return (JOBS / (performance.now() - startedAt)) * 1_000;
}

async function enqueueRaw(queue: Queue, name: string): Promise<void> {
  for (let at = 0; at < JOBS; at += CHUNK)
    await queue.addBulk(
      Array.from({ length: CHUNK }, (_, index) => ({
        name: 'file job',
        data: payload(at + index),
        opts: { ...OPTIONS, jobId: `${name}-${at + index}` },
      })),
    );
}

function enqueueOurs(name: string): Promise<void> {
  const items = Array.from({ length: JOBS }, (_, index) => ({
    jobId: `${name}-${index}`,
    payload: payload(index),
  }));
  return manager.enqueueJobs(name, FILE_JOB, items);
}

/** Time from the start of a worker to the completion of the last job; ending the worker does not count. */
async function timedWorker(name: string, start: () => Promise<() => Promise<void>>): Promise<number> {
  let stop = async (): Promise<void> => {};
  const rate = await timed(async () => {
    stop = await start();
    while ((await watcher.zcard(`${prefix}:${name}:completed`)) < JOBS)
      await new Promise((resolve) => setTimeout(resolve, 5));
  });
  await stop();
  return rate;
}

async function startRaw(name: string): Promise<() => Promise<void>> {
  const connection = createRedisClient(parseRedisUrl(redis.url), { role: 'worker', name: 'raw' });
  const worker = new Worker(name, async () => {}, {
    connection,
    prefix,
    name: 'bench',
    concurrency: CONCURRENCY,
    lockDuration: 10_000,
    stalledInterval: 5_000,
    removeOnComplete: { age: 3_600, count: 20_000 },
  });
  return async () => {
    await worker.close();
    connection.disconnect();
  };
}

async function startOurs(name: string): Promise<() => Promise<void>> {
  const worker = manager.createWorker(name, FILE_JOB, async () => {}, { concurrency: CONCURRENCY });
  await worker.start();
  return () => worker.stop();
}

const upperQuartile = (values: readonly number[]): number =>
  values.toSorted((a, b) => b - a)[values.length >> 2] ?? NaN;
const rates = {
  enqueueRaw: new Array<number>(),
  enqueueOurs: new Array<number>(),
  processRaw: new Array<number>(),
  processOurs: new Array<number>(),
};

for (let round = 0; round <= ROUNDS; round++) {
  const [raw, ours] = [`raw-${round}`, `ours-${round}`];
  const queue = new Queue(raw, { connection: client, prefix });
  const sides = [
    async () => {
      const enqueue = await timed(() => enqueueRaw(queue, raw));
      const process = await timedWorker(raw, () => startRaw(raw));
      if (round === 0) return;
      rates.enqueueRaw.push(enqueue);
      rates.processRaw.push(process);
    },
    async () => {
      const enqueue = await timed(() => enqueueOurs(ours));
      const process = await timedWorker(ours, () => startOurs(ours));
      if (round === 0) return;
      rates.enqueueOurs.push(enqueue);
      rates.processOurs.push(process);
    },
  ];
  // Who goes first changes, so that neither side has the quieter half of every round.
  for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
  await queue.close();
  await redis.flush();
}

for (const [name, ours, raw] of [
  ['queue.enqueue', rates.enqueueOurs, rates.enqueueRaw],
  ['queue.process', rates.processOurs, rates.processRaw],
] as const) {
  const [value, peer] = [upperQuartile(ours), upperQuartile(raw)];
  report({ name, value, unit: 'jobs/s', peer, ratio: value / peer, aim: AIM });
}

await manager.closeConnections();
client.disconnect();
watcher.disconnect();
await redis.stop();
