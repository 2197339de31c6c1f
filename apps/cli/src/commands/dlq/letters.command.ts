import type { Command } from 'commander';
import { CLI_EXIT } from '../../cli.errors.js';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';
import { addFilterOptions, filterOf, type FilterOptions } from '../../dlq/filter.js';
import { LETTER_HEADER, letterReport, letterRow } from '../../dlq/letter-report.js';
import { wholeGroup } from '../../dlq/whole-id.js';
import { addPagingOptions, pages, printPages, type PagingOptions } from '../../output/paged.js';
import { count, json } from '../../output/table.js';
import { wholeNumber } from '../../output/whole-number.js';

type ListOptions = ConnectionOptions & FilterOptions & PagingOptions & { count?: boolean };

export function addLetters(dlq: Command): void {
  const list = dlq
    .command('list')
    .summary('letters that match, newest first')
    .description('Letters that match every condition, newest first.')
    .option('--count', 'only tell how many');
  addPagingOptions(addFilterOptions(list)).action((_: unknown, command: Command) =>
    listLetters(command.optsWithGlobals<ListOptions>()),
  );

  dlq
    .command('show')
    .summary('one letter: payload, stack, attempts, history')
    .argument('<id>', 'the number of the letter', letterId)
    .action((id: number, _: unknown, command: Command) =>
      showLetter(id, command.optsWithGlobals<ConnectionOptions>()),
    );
}

export function letterId(text: string): number {
  return wholeNumber('<id>', text, 1, Number.MAX_SAFE_INTEGER);
}

async function listLetters(options: ListOptions): Promise<void> {
  const asked = filterOf(options);
  const found = await withDlqAdmin(options, async (client) => {
    const filter = await wholeGroup(client, asked);
    if (options.count) return printCount(await client.count(filter), options);
    return printPages(
      options.output,
      pages((page) => client.letters(filter, page), options),
      { header: LETTER_HEADER, row: letterRow },
    );
  });
  if (found === 0) process.exitCode = CLI_EXIT.nothing;
}

function printCount(found: { count: number; exact: boolean }, { output }: ListOptions): number {
  const more = found.exact ? '' : ' or more';
  process.stdout.write(output === 'json' ? json(found) : `${count(found.count)}${more}\n`);
  return found.count;
}

async function showLetter(id: number, options: ConnectionOptions): Promise<void> {
  const letter = await withDlqAdmin(options, (client) => client.letter(id));
  process.stdout.write(options.output === 'json' ? json(letter) : letterReport(letter));
}
