import type { Command } from 'commander';
import type { LetterFilter } from '#dlq-client';
import { CLI_EXIT } from '../../cli.errors.js';
import { acting, print, whole } from '../../command.js';
import { asking, withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addFilterOptions, filterOf } from '../../dlq/filter.js';
import { LETTER_COLUMNS, letterReport } from '../../dlq/letter-report.js';
import { wholeGroup } from '../../dlq/whole-id.js';
import { addPagingOptions, printPages, type PagingOptions } from '../../output/paged.js';
import { count } from '../../output/table.js';

type ListOptions = ConnectionOptions & LetterFilter & PagingOptions & { count?: boolean };

export const letterId = whole('<id>', 1, Number.MAX_SAFE_INTEGER);

export function addLetters(dlq: Command): void {
  const list = dlq
    .command('list')
    .summary('letters that match, newest first')
    .description('Letters that match every condition, newest first.')
    .option('--count', 'only tell how many');
  addPagingOptions(addFilterOptions(list)).action(acting(listLetters));
  dlq
    .command('show')
    .summary('one letter: payload, stack, attempts, history')
    .argument('<id>', 'the number of the letter', letterId)
    .action(asking((client, _: ConnectionOptions, id: number) => client.letter(id), letterReport));
}

async function listLetters(options: ListOptions): Promise<void> {
  const found = await withDlqAdmin(options, async (client) => {
    const filter = await wholeGroup(client, filterOf(options));
    if (!options.count) return printPages(options, (page) => client.letters(filter, page), LETTER_COLUMNS);
    const counted = await client.count(filter);
    print(options, counted, ({ exact }) => `${count(counted.count)}${exact ? '' : ' or more'}\n`);
    return counted.count;
  });
  if (found === 0) process.exitCode = CLI_EXIT.nothing;
}
