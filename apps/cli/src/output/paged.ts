import type { Command } from 'commander';
import type { Page } from '#dlq-client';
import { whole } from '../command.js';
import { count, json, tableOf, type Columns, type OutputFormat } from './table.js';

const MAX_PAGE = 200;

export interface PagingOptions {
  limit: number;
  all?: boolean;
}

export type FetchPage<T> = (page: { cursor?: string; limit: number }) => Promise<Page<T>>;

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
  options: PagingOptions & { output: OutputFormat },
  fetch: FetchPage<T>,
  columns: Columns<T>,
): Promise<number> {
  const isJson = options.output === 'json';
  let printed = 0;
  let more = false;
  for await (const { items, next } of pages(fetch, options)) {
    const parts = isJson
      ? items.map((item, at) => `${printed + at === 0 ? '[' : ','}\n${json(item).trimEnd()}`)
      : tableOf(items, columns)
          .split(/(?<=\n)/)
          .slice(printed === 0 ? 0 : 1);
    if (items.length > 0) process.stdout.write(parts.join(''));
    printed += items.length;
    more = next !== null;
  }
  if (isJson) process.stdout.write(printed === 0 ? '[]\n' : '\n]\n');
  else if (more) process.stderr.write(`The first ${count(printed)}; --all shows every one.\n`);
  return printed;
}

export function addPagingOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'so many at most', whole('--limit', 1, 1_000_000), 50)
    .option('--all', 'every one, page by page');
}
