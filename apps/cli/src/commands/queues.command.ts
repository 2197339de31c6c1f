import type { Command } from 'commander';
import type { DelayedJobView, QueueView } from '#dlq-client';
import { acting } from '../command.js';
import { addConnectionOptions, asking, NOTE, withDlqAdmin } from '../dlq/connection.js';
import { duration, plain, tableOf, time, type Columns } from '../output/table.js';

const HELP = `
Examples:
  millrace queues                                    what waits, runs and is put off
  millrace queues pause file-analysis-queue --note "the analyser is being upgraded"
  millrace queues delayed file-analysis-queue        next attempts and last errors
  millrace queues now file-analysis-queue e-3f25…    do not wait for the next attempt`;

const EXIT_CODES = `
Exit codes: 0 done, 5 the key is missing or its role does not suffice, 64 wrong usage, 66 no such queue or job,
            69 dlq-admin does not answer, 78 invalid configuration`;

const PAUSE = {
  pause: 'let no worker take jobs of a queue; those that run come to their end',
  resume: 'let the workers go on',
};

export function addQueues(program: Command): void {
  const queues = addConnectionOptions(
    program
      .command('queues')
      .summary('pause and resume queues, look at delayed jobs')
      .description('The queues of the pipeline, by the REST interface of dlq-admin.')
      .configureHelp({ showGlobalOptions: true })
      .addHelpText('after', HELP)
      .addHelpText('afterAll', EXIT_CODES),
  ).action(asking(async (client) => (await client.queues()).items, queueTable));
  for (const [what, summary] of Object.entries(PAUSE))
    queues
      .command(what)
      .summary(summary)
      .argument('<queue>', 'the queue')
      .option(...NOTE)
      .action(
        asking(
          (client, { note }, queue) => client.setPaused(queue, what === 'pause', note),
          ({ queue, paused }) => `${plain(queue)} is ${paused ? 'paused' : 'not paused'}\n`,
        ),
      );
  addDelayed(queues);
}

function addDelayed(queues: Command): void {
  queues
    .command('delayed')
    .summary('jobs that are put off, with next attempt and last error')
    .argument('<queue>', 'the queue')
    .action(
      asking(
        async (client, _, queue) => (await client.delayed(queue, 200)).items,
        (jobs) => tableOf(jobs, DELAYED_COLUMNS),
      ),
    );
  queues
    .command('now')
    .summary('make jobs that are put off due now')
    .argument('<queue>', 'the queue')
    .argument('<jobs...>', 'ids of jobs')
    .action(
      acting((options, queue: string, jobs: string[]) =>
        withDlqAdmin(options, async (client) => {
          for (const job of jobs) {
            await client.promote(queue, job);
            process.stdout.write(`${plain(job)} is due now\n`);
          }
        }),
      ),
    );
}

const DELAYED_COLUMNS: Columns<DelayedJobView> = {
  JOB: 'id',
  'NEXT ATTEMPT': ({ nextAttemptAt }) => time(nextAttemptAt),
  ATTEMPTS: 'attemptsMade',
  'LAST ERROR:60': 'lastError',
};

export function queueTable(queues: readonly QueueView[]): string {
  return tableOf(queues, {
    QUEUE: 'queue',
    WAITING: 'waiting',
    ACTIVE: 'active',
    DELAYED: 'delayed',
    FAILED: 'failed',
    OLDEST: ({ oldestWaitingMs }) => duration(oldestWaitingMs),
    '': ({ paused }) => (paused ? 'PAUSED' : ''),
  });
}
