import type { Command } from 'commander';
import type { QueueView } from '#dlq-client';
import { addConnectionOptions, withDlqAdmin, type ConnectionOptions } from '../dlq/connection.js';
import { addExitCodes } from '../output/exit-codes.js';
import { duration, json, plain, short, table, time } from '../output/table.js';

const HELP = `
Examples:
  millrace queues                                    what waits, runs and is put off
  millrace queues pause file-analysis-queue --note "the analyser is being upgraded"
  millrace queues delayed file-analysis-queue        next attempts and last errors
  millrace queues now file-analysis-queue e-3f25…    do not wait for the next attempt`;

const EXIT_CODES = `0 done, 5 the key is missing or its role does not suffice, 64 wrong usage, 66 no such queue or job,
            69 dlq-admin does not answer, 78 invalid configuration`;

type Options = ConnectionOptions & { note?: string };

export function addQueues(program: Command): void {
  const queues = addConnectionOptions(
    program
      .command('queues')
      .summary('pause and resume queues, look at delayed jobs')
      .description('The queues of the pipeline, by the REST interface of dlq-admin.')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText('after', HELP),
  ).action((_: unknown, command: Command) => list(command.optsWithGlobals<Options>()));
  for (const what of ['pause', 'resume'] as const)
    queues
      .command(what)
      .summary(
        what === 'pause'
          ? 'let no worker take jobs of a queue; those that run come to their end'
          : 'let the workers go on',
      )
      .argument('<queue>', 'the queue')
      .option('--note <text>', 'why; kept in the audit log')
      .action((queue: string, _: unknown, command: Command) =>
        setPaused(queue, what, command.optsWithGlobals<Options>()),
      );
  queues
    .command('delayed')
    .summary('jobs that are put off, with next attempt and last error')
    .argument('<queue>', 'the queue')
    .action((queue: string, _: unknown, command: Command) =>
      delayed(queue, command.optsWithGlobals<Options>()),
    );
  queues
    .command('now')
    .summary('make jobs that are put off due now')
    .argument('<queue>', 'the queue')
    .argument('<jobs...>', 'ids of jobs')
    .action((queue: string, jobs: string[], _: unknown, command: Command) =>
      promote(queue, jobs, command.optsWithGlobals<Options>()),
    );
  addExitCodes(queues, EXIT_CODES);
}

async function list(options: Options): Promise<void> {
  const { items } = await withDlqAdmin(options, (client) => client.queues());
  process.stdout.write(options.output === 'json' ? json(items) : queueTable(items));
}

export function queueTable(queues: readonly QueueView[]): string {
  return table(
    ['QUEUE', 'WAITING', 'ACTIVE', 'DELAYED', 'FAILED', 'OLDEST', ''],
    queues.map((q) => [
      ...[q.queue, q.waiting, q.active, q.delayed, q.failed, duration(q.oldestWaitingMs)],
      q.paused ? 'PAUSED' : '',
    ]),
  );
}

async function setPaused(queue: string, what: 'pause' | 'resume', options: Options): Promise<void> {
  const view = await withDlqAdmin(options, (client) =>
    client.setPaused(queue, what === 'pause', options.note),
  );
  process.stdout.write(
    options.output === 'json'
      ? json(view)
      : `${plain(view.queue)} is ${view.paused ? 'paused' : 'not paused'}\n`,
  );
}

async function delayed(queue: string, options: Options): Promise<void> {
  const { items } = await withDlqAdmin(options, (client) => client.delayed(queue, 200));
  process.stdout.write(
    options.output === 'json'
      ? json(items)
      : table(
          ['JOB', 'NEXT ATTEMPT', 'ATTEMPTS', 'LAST ERROR'],
          items.map((job) => [
            job.id,
            time(job.nextAttemptAt),
            job.attemptsMade,
            short(job.lastError ?? '', 60),
          ]),
        ),
  );
}

async function promote(queue: string, jobs: readonly string[], options: Options): Promise<void> {
  await withDlqAdmin(options, async (client) => {
    for (const job of jobs) {
      await client.promote(queue, job);
      process.stdout.write(`${plain(job)} is due now\n`);
    }
  });
}
