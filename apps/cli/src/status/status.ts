import { QUEUE } from '#contracts';
import { pipelinePrefix, readPipeline, type Database } from '#database';
import { PipelineOverview } from '#overview';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger, sleep } from '#service';
import { placesConfig } from '../cli.config.js';
import type { Screen } from '../output/screen.js';
import { statusLine, statusReport } from './status-report.js';

const QUEUES = Object.values(QUEUE);

/** Looks and changes nothing. Without a Redis, or before the first use of the database, there are no queues to look at. */
export async function withOverview<T>(
  database: Database,
  redisUrl: string | undefined,
  use: (overview: PipelineOverview) => Promise<T>,
): Promise<T> {
  const row = await database.read(readPipeline);
  const look = (queues?: QueueManager): Promise<T> =>
    use(new PipelineOverview({ database, queues, queueNames: QUEUES }));
  return redisUrl && row ? withQueues(redisUrl, row.id, look) : look();
}

/** The queues whose jobs nobody takes because somebody paused them. */
export function pausedQueues(url: string, pipeline: string): Promise<string[]> {
  return withQueues(url, pipeline, async (queues) => {
    const paused = await Promise.all(QUEUES.map((name) => queues.getQueue(name).paused()));
    return QUEUES.filter((_, index) => paused[index]);
  });
}

async function withQueues<T>(
  url: string,
  pipeline: string,
  use: (queues: QueueManager) => Promise<T>,
): Promise<T> {
  const prefix = pipelinePrefix((await placesConfig()).REDIS_PREFIX, pipeline);
  const own = { workerId: 'cli', logger: silentLogger, metrics: new Metrics() };
  const queues = new QueueManager({ url, prefix, ...own, evictionPolicy: 'warn' });
  try {
    await queues.start();
    return await use(queues);
  } finally {
    await queues.closeConnections();
  }
}

const EVERY_MS = 1_000;

/** Shows the pipeline until told to stop: redrawn on a terminal, elsewhere a line for each change. */
export async function watchStatus(overview: PipelineOverview, screen: Screen, stop: AbortSignal) {
  for (let last = ''; !stop.aborted; await sleep(EVERY_MS, stop)) {
    const view = await overview.view();
    const line = statusLine(view);
    if (screen.live) screen.draw(statusReport(view).trimEnd().split('\n'), line);
    else if (line !== last) screen.note(line);
    last = line;
  }
}
