import type { DlqClient, LetterFilter } from '#dlq-client';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { pages, type FetchPage } from '../output/paged.js';

const WHOLE = /^(?:[0-9a-f]{24}|[0-9a-f-]{36})$/;

/** The id that begins like this; an id that is whole is not looked for. */
export async function wholeId(what: string, begun: string, list: FetchPage<{ id: string }>): Promise<string> {
  if (WHOLE.test(begun)) return begun;
  const found: string[] = [];
  for await (const { items } of pages(list, { limit: 1, all: true }))
    for (const { id } of items) if (id.startsWith(begun)) found.push(id);
  const [id, other] = found;
  if (id === undefined)
    throw new CliError(`there is no ${what} whose id begins with ${begun}`, CLI_EXIT.noInput);
  if (other !== undefined)
    throw new UsageError(`several ids of ${what}s begin with ${begun}: ${found.slice(0, 5).join(', ')}`);
  return id;
}

export const groupId = (client: DlqClient, begun: string): Promise<string> =>
  wholeId('group', begun, (page) => client.groups({ ...page, status: 'any' }));

/** A filter whose group is named by the beginning of its id. */
export async function wholeGroup(client: DlqClient, filter: LetterFilter): Promise<LetterFilter> {
  return filter.group === undefined ? filter : { ...filter, group: await groupId(client, filter.group) };
}
