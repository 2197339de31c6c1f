import type { Command } from 'commander';
import type { Page } from '#dlq-client';
import { count, json, table, type Cell, type OutputFormat } from './table.js';
import { wholeNumber } from './whole-number.js';

const MAX_PAGE = 200;

export interface PagingOptions {
  limit: number;
  all?: boolean;
}

type FetchPage<T> = (page: { cursor?: string; limit: number }) => Promise<Page<T>>;

/** Pages of a list until the limit, or until its end with `all`. */
export async function* pages<T>(fetch: FetchPage<T>, { limit, all }: PagingOptions): AsyncGenerator<Page<T>> {
  let left = all ? Infinity : limit;
  for (let cursor: string | undefined; left > 0;) {
    const page = await fetch({ cursor, limit: Math.min(left, MAX_PAGE) });
    yield page;
    if (page.next === null) return;
    left -= page.items.length;
    cursor = page.next;
  }
}

/**
 * Prints a list page by page, as a table or as one JSON array, so that a million rows take no more memory than a page.
 * Returns how many there were.
 */
export async function printPages<T>(
  format: OutputFormat,
  found: AsyncIterable<Page<T>>,
  { header, row }: { header: readonly string[]; row: (item: T) => readonly Cell[] },
): Promise<number> {
  let printed = 0;
  let more = false;
  for await (const { items, next } of found) {
    process.stdout.write(
      format === 'json' ? elements(items, printed === 0) : rowsOf(header, items.map(row), printed === 0),
    );
    printed += items.length;
    more = next !== null;
  }
  if (format === 'json') process.stdout.write(printed === 0 ? '[]\n' : '\n]\n');
  else if (more) process.stderr.write(`The first ${count(printed)}; --all shows every one.\n`);
  return printed;
}

function elements(items: readonly unknown[], first: boolean): string {
  return items
    .map((item, index) => `${first && index === 0 ? '[\n' : ',\n'}${json(item).trimEnd()}`)
    .join('');
}

function rowsOf(header: readonly string[], rows: readonly (readonly Cell[])[], first: boolean): string {
  if (rows.length === 0) return '';
  const text = table(header, rows);
  return first ? text : text.slice(text.indexOf('\n') + 1);
}

export function addPagingOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'so many at most', (text) => wholeNumber('--limit', text, 1, 1_000_000), 50)
    .option('--all', 'every one, page by page');
}
