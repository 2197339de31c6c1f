import type { Command } from 'commander';
import { EXIT } from '#service';
import { CliError } from '../cli.errors.js';
import { ChildApp } from '../fleet/child-app.js';
import { DataDirectory } from '../fleet/data-directory.js';
import { producerEnvironment } from '../run/plan.js';
import { checkRequest, type RunOptions } from '../run/run-options.js';
import { openServices, type Undo } from '../run/services.js';
import { cliLogger, placesOf } from '../settings.js';

export function addScan(program: Command): void {
  program
    .command('scan')
    .summary('only register the files of a directory and put them in the queue')
    .description(
      'Registers what is new, changed or gone and enqueues it for the batchers of a running fleet, or of the next run.',
    )
    .argument('<directory>', 'the directory to scan')
    .option('--include <glob...>', 'only files that match')
    .option('--exclude <glob...>', 'leave out files that match')
    .option('--allow-mass-removal', 'accept that most known files are gone')
    .addHelpText(
      'after',
      '\nExamples:\n  millrace scan ./src\n  REDIS_URL=… DATABASE_URL=… millrace scan /data',
    )
    .action(async (directory: string, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<RunOptions>();
      await scan(directory, { ...options, out: '.millrace-unused', workers: '1', format: 'markdown' });
    });
}

async function scan(directory: string, options: RunOptions): Promise<void> {
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
    process.stdout.write(`${JSON.stringify(producer.lastRecord('summary') ?? {}, null, 2)}\n`);
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
  return openServices(data, undo);
}
