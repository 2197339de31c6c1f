import type { Command } from 'commander';
import type { DeadEvent } from '#dlq-client';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { wholeId } from '../../dlq/whole-id.js';
import { addPagingOptions, pages, printPages, type PagingOptions } from '../../output/paged.js';
import { json, plain, short, shortId, time, type Cell } from '../../output/table.js';

const HEADER = ['EVENT', 'CREATED', 'QUEUE', 'NAME', 'ATTEMPTS', 'LAST ERROR'];

export function addEvents(dlq: Command): void {
  const events = dlq.command('events').summary('outbox events that could not be published, oldest first');
  addPagingOptions(events).action((_: unknown, command: Command) => {
    const options = command.optsWithGlobals<ConnectionOptions & PagingOptions>();
    return withDlqAdmin(options, async (client) => {
      await printPages(
        options.output,
        pages((page) => client.deadEvents(page), options),
        { header: HEADER, row: eventRow },
      );
    });
  });

  dlq
    .command('revive')
    .summary('offer dead events to the publishers again')
    .argument('<ids...>', 'ids of events, or how they begin')
    .action((ids: string[], _: unknown, command: Command) =>
      revive(ids, command.optsWithGlobals<ConnectionOptions>()),
    );
}

function eventRow({ id, createdAt, queue, eventName, attempts, lastError }: DeadEvent): Cell[] {
  return [
    shortId(id),
    time(createdAt),
    short(queue, 40),
    short(eventName, 40),
    attempts,
    short(lastError ?? '', 80),
  ];
}

async function revive(ids: readonly string[], options: ConnectionOptions): Promise<void> {
  await withDlqAdmin(options, async (client) => {
    for (const begun of ids) {
      const id = await wholeId('event', begun, (page) => client.deadEvents(page));
      const revived = await client.reviveEvent(id);
      process.stdout.write(
        options.output === 'json' ? json(revived) : `event ${plain(id)} is offered again\n`,
      );
    }
  });
}
