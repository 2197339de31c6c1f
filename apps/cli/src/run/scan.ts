import { EXIT } from '#service';
import { CliError } from '../cli.errors.js';
import { ChildApp } from '../fleet/child-app.js';
import { DataDirectory } from '../fleet/data-directory.js';
import { cliLogger, placesOf } from '../settings.js';
import { producerEnvironment } from './plan.js';
import { checkRequest, type RunOptions } from './run-options.js';
import { openServices, type Undo } from './services.js';

/** One run of the producer alone, on the services of a running fleet or on private ones. */
export async function scan(directory: string, options: RunOptions): Promise<void> {
  const request = await checkRequest(directory, options);
  const undo: Undo[] = [];
  const data = new DataDirectory(options.data);
  await data.create();
  try {
    const { databaseUrl, redisUrl } = await servicesOf(options, data, undo);
    const env = {
      ...producerEnvironment(request),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      EXCLUDE_PATHS: data.path,
      PORT: '0',
    };
    const producer = new ChildApp({
      app: 'producer',
      label: 'producer',
      env,
      logFile: data.logFile('producer'),
      logger: cliLogger(),
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void producer.stop());
    const code = await producer.runOnce();
    if (code !== EXIT.ok) throw new CliError(producer.lastWords(code), code);
    const summary = producer.lastRecord('summary');
    if (!summary)
      process.stderr.write(`millrace: another producer is scanning ${directory}; nothing was done\n`);
    process.stdout.write(`${JSON.stringify(summary ?? {}, null, 2)}\n`);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Those of a fleet that runs on the data directory, if one does. */
async function servicesOf(
  options: RunOptions,
  data: DataDirectory,
  undo: Undo[],
): Promise<{ databaseUrl: string; redisUrl: string }> {
  const places = await placesOf(options);
  if (places.redisUrl) return { databaseUrl: places.databaseUrl, redisUrl: places.redisUrl };
  return (await openServices(data, undo)).places;
}
