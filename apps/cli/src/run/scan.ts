import { CliError } from '../cli.errors.js';
import { ChildApp } from '../fleet/child-app.js';
import { dataOf, namedOrLast, type DataDirectory } from '../fleet/data-directory.js';
import { placesOf, tellPipeline } from '../settings.js';
import { producerEnvironment } from './plan.js';
import { checkRequest, type RunOptions, type RunRequest } from './run-options.js';
import { claimPlaces, openServices, type Undo } from './begin.js';

/** One run of the producer alone, on the services of a running fleet or on private ones. */
export async function scan(directory: string, options: RunOptions): Promise<void> {
  const request = await checkRequest(directory, options);
  const undo: Undo[] = [];
  try {
    const data = (await namedOrLast(request.data)) ?? (await dataOf(request.destination));
    await data.create();
    const { databaseUrl, redisUrl, destination } = await servicesOf(request, data, undo);
    const output = destination?.sink === 'write' ? [destination.address] : [];
    const told = await producerEnvironment(request, [data.path, ...output]);
    const env = { ...told, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, PORT: '0' };
    const producer = new ChildApp({ app: 'producer', env }, data);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void producer.stop());
    producer.onRestart = ({ reason }) =>
      process.stderr.write(`millrace: the scan is started again: ${reason}\n`);
    const failed = await producer.run({ task: true });
    if (failed) throw new CliError(failed.reason, failed.code);
    const { summary } = producer.last;
    if (!summary)
      process.stderr.write(`millrace: another producer is scanning ${directory}; nothing was done\n`);
    process.stdout.write(`${JSON.stringify(summary ?? {}, null, 2)}\n`);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Those of a fleet that runs on the data directory, if one does, and where the pipeline delivers. */
async function servicesOf(request: RunRequest, data: DataDirectory, undo: Undo[]) {
  const { databaseUrl, redisUrl } = await placesOf({ data: data.path });
  if ((await data.running()) && redisUrl)
    return { databaseUrl, redisUrl, destination: (await data.card())?.destination };
  const claimed = await claimPlaces(request, data, undo);
  const { places, pipeline } = await openServices(undefined, data, claimed, undo);
  await tellPipeline(pipeline, { data, databaseUrl: places.databaseUrl });
  return { ...places, destination: pipeline.destination };
}
