import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Queue, Worker } from 'bullmq';
import { QUEUE } from '#contracts';
import { queryOne, type Database } from '#database';
import {
  enqueueFiles,
  openDatabase,
  openQueues,
  registerFiles,
} from '../apps/batcher/src/batcher.fixture.js';
// Not by '#testing': its index needs Jest.
import { spawnApp, type Child } from '../libs/testing/src/child.js';
import { eventually } from '../libs/testing/src/eventually.js';
import { pipelineRedis } from '../libs/testing/src/pipeline-redis.js';
import { startRedis } from '../libs/testing/src/redis-server.js';
import { tempFolder } from '../libs/testing/src/temp-folder.js';

// As a producer makes them.
const FILES_PER_JOB = 200;
const LIMIT = { timeoutMs: 900_000, everyMs: 20 };

export interface Round {
  seconds: number;
  /** Processor time of the batchers, all threads, without their start: what a busy machine cannot distort much. */
  cpuSeconds: number;
  batches: number;
  /** Share of the budget that batches use, the last of each process included. */
  fill: number;
  peakRssMb: number;
  /** The longest that an event loop was late, in seconds. */
  lag: number;
}

/** Files below a folder, up to so many bytes, smallest depth first. */
export function filesBelow(
  root: string,
  pattern: RegExp,
  maxBytes: number,
): { path: string; size: number }[] {
  const found: { path: string; size: number }[] = [];
  let bytes = 0;
  const folders = [root];
  for (let folder = folders.shift(); folder !== undefined && bytes < maxBytes; folder = folders.shift())
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isFile() || !pattern.test(entry.name) || bytes >= maxBytes) continue;
      const { size } = statSync(path);
      found.push({ path, size });
      bytes += size;
    }
  return found;
}

/** One file in five goes ahead to warm the processes up and is not timed. */
export const isWarmUp = (index: number): boolean => index % 5 === 0;

/** Has the files batched by so many processes that were started and warmed up before, and tells how long that took. */
export async function batch(
  paths: readonly string[],
  processes: number,
  env: NodeJS.ProcessEnv,
): Promise<Round> {
  const folder = await tempFolder('bench');
  const redis = await startRedis();
  const address = { url: redis.url, prefix: '{millrace}' };
  const url = `sqlite:${join(folder.path, 'millrace.db')}`;
  const database = await openDatabase(url);
  const queues = await openQueues(await pipelineRedis(address, url));
  const children: Child[] = [];
  try {
    const queue = queues.getQueue(QUEUE.filesToBatch);
    const enqueue = async (some: readonly string[]): Promise<void> => {
      await queue.pause();
      const files = await registerFiles(database, some);
      await enqueueFiles(queues, database, files, FILES_PER_JOB);
    };
    for (let n = 0; n < processes; n++)
      children.push(
        spawnApp('batcher', {
          ...{ REDIS_URL: redis.url, DATABASE_URL: url, LOG_FORMAT: 'json', LOG_LEVEL: 'info' },
          // Looking for lost jobs while the queue is paused would be work that no run has.
          ...{ RECOVERY_INTERVAL_MS: '60000', ...env },
        }),
      );
    await Promise.all(children.map((child) => child.log({ msg: 'batcher started' }, 120_000)));
    // The peers are warm, so be warm.
    await enqueue(paths.filter((_, n) => isWarmUp(n)));
    await queue.resume();
    await eventually(() => isDone(database), LIMIT);
    await enqueue(paths.filter((_, n) => !isWarmUp(n)));
    const cpuBefore = cpuSeconds(children);
    const begun = performance.now();
    await queue.resume();
    await eventually(() => isDone(database), LIMIT);
    const seconds = (performance.now() - begun) / 1_000;
    return {
      seconds,
      cpuSeconds: cpuSeconds(children) - cpuBefore,
      ...(await batchFacts(database)),
      ...(await processFacts(children)),
    };
  } finally {
    await Promise.all(children.map((child) => child.end('SIGTERM')));
    await queues.closeConnections();
    await database.stop();
    await redis.stop();
    await folder.remove();
  }
}

function cpuSeconds(children: readonly Child[]): number {
  return children.reduce((sum, { pid }) => {
    // After the name in parentheses: state is field 3, user and system time are 14 and 15, in hundredths.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) / 100;
  }, 0);
}

async function isDone(database: Database): Promise<boolean> {
  const { left } = await database.read((manager) =>
    queryOne<{ left: number }>(
      manager,
      `SELECT EXISTS (SELECT 1 FROM files WHERE status = 'pending' AND removed = 0)
        OR EXISTS (SELECT 1 FROM files WHERE status = 'processing' AND removed = 0) AS left`,
    ),
  );
  return !left;
}

function batchFacts(database: Database): Promise<{ batches: number; fill: number }> {
  return database.read((manager) =>
    queryOne(
      manager,
      'SELECT count(*) AS batches, avg(1.0 * total_tokens / max_tokens) AS fill FROM batches',
    ),
  );
}

async function processFacts(children: readonly Child[]): Promise<{ peakRssMb: number; lag: number }> {
  const facts = await Promise.all(
    children.map(async (child) => {
      const { port } = await child.log({ msg: 'batcher listening' });
      const metrics = await (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
      const lag = Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(metrics)?.[1] ?? 0);
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return { lag, peakRssMb: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024 };
    }),
  );
  return {
    peakRssMb: Math.max(...facts.map(({ peakRssMb }) => peakRssMb)),
    lag: Math.max(...facts.map(({ lag }) => lag)),
  };
}

/** A bare BullMQ worker that does nothing, on a Redis of its own: jobs a second, and a second of processor time. */
export async function noOpRate(
  jobs: number,
  concurrency: number,
): Promise<{ rate: number; cpuRate: number }> {
  const redis = await startRedis();
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
  const queue = new Queue('bare', { connection });
  await queue.pause();
  for (let at = 0; at < jobs; at += 1_000)
    await queue.addBulk(
      Array.from({ length: Math.min(1_000, jobs - at) }, (_, n) => ({
        name: 'file job',
        data: { filePath: `/some/where/file-${at + n}.txt`, fileSize: 100, fileId: at + n + 1, revision: 1 },
      })),
    );
  let done = 0;
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const worker = new Worker('bare', () => Promise.resolve(), { connection, concurrency });
  worker.on('completed', () => {
    if (++done === jobs) finish();
  });
  await worker.waitUntilReady();
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  await queue.resume();
  await finished;
  const seconds = (performance.now() - begun) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);
  await worker.close();
  await queue.close();
  await redis.stop();
  return { rate: jobs / seconds, cpuRate: (jobs * 1_000_000) / (cpu.user + cpu.system) };
}
