import { QUEUE } from '#contracts';
import { pipelinePrefix, readPipeline, type Database } from '#database';
import { PipelineOverview } from '#overview';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger, sleep } from '#service';
import { placesConfig } from '../cli.config.js';
import type { Screen } from '../output/screen.js';
import { statusLine, statusReport } from './status-report.js';

/** Looks and changes nothing. Without a Redis, or before the first use of the database, there are no queues to look at. */
export async function withOverview<T>(
  database: Database,
  redisUrl: string | undefined,
  use: (overview: PipelineOverview) => Promise<T>,
): Promise<T> {
  const row = await database.read(readPipeline);
  const queues = redisUrl && row ? await openQueues(redisUrl, row.id) : undefined;
  try {
    return await use(new PipelineOverview({ database, queues, queueNames: Object.values(QUEUE) }));
  } finally {
    await queues?.closeConnections();
  }
}

async function openQueues(url: string, id: string): Promise<QueueManager> {
  const queues = new QueueManager({
    url,
    prefix: pipelinePrefix((await placesConfig()).REDIS_PREFIX, id),
    workerId: 'cli',
    logger: silentLogger,
    metrics: new Metrics(),
    evictionPolicy: 'warn',
  });
  await queues.start().catch(async (error: unknown) => {
    await queues.closeConnections();
    throw error;
  });
  return queues;
}

/** The queues whose jobs nobody takes because somebody paused them. */
export async function pausedQueues(url: string, pipeline: string): Promise<string[]> {
  const queues = await openQueues(url, pipeline);
  try {
    const names = Object.values(QUEUE);
    const paused = await Promise.all(names.map((name) => queues.getQueue(name).paused()));
    return names.filter((_, index) => paused[index]);
  } finally {
    await queues.closeConnections();
  }
}

const EVERY_MS = 1_000;

/** Shows the pipeline until told to stop: redrawn on a terminal, elsewhere a line for each change. */
export async function watchStatus(
  overview: PipelineOverview,
  screen: Screen,
  stop: AbortSignal,
): Promise<void> {
  for (let last = ''; !stop.aborted; await sleep(EVERY_MS, stop)) {
    const view = await overview.view();
    const line = statusLine(view);
    if (screen.live) screen.draw(statusReport(view).trimEnd().split('\n'), line);
    else if (line !== last) screen.note(line);
    last = line;
  }
}
