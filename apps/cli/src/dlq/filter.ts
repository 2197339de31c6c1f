import { Option, type Command } from 'commander';
import { LETTER_STATUSES, REASONS, type DlqClient, type LetterFilter } from '#dlq-client';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';
import { pages, type FetchPage } from '../output/paged.js';

const WHOLE_ID = /^(?:[0-9a-f]{24}|[0-9a-f-]{36})$/;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function addFilterOptions(command: Command): Command {
  return command
    .option('--queue <name>', 'of this origin queue')
    .option('--name <job>', 'of this job name')
    .option('--error <name>', 'with this error, such as TypeError')
    .option('--group <id>', 'of this group of `millrace dlq groups`; the beginning of its id will do')
    .option('--worker <id>', 'that failed last on this worker')
    .addOption(new Option('--reason <reason>', 'that died of this').choices(REASONS))
    .addOption(new Option('--status <status>', 'in this state').choices(LETTER_STATUSES))
    .option('--from <time>', 'dead-lettered at or after: 2026-01-31T08:00Z, or 2h, 7d ago', timeOf('--from'))
    .option('--until <time>', 'dead-lettered before', timeOf('--until'))
    .option('--text <text>', 'with this text in payload or error, literally')
    .option('--payload <path=value>', 'with this payload field, such as user.id=7; may be repeated', fieldOf);
}

/** The filter that was asked for; conditions that were not given are not in it. */
export function filterOf(options: LetterFilter): LetterFilter {
  const { queue, name, error, group, worker, reason, status, from, until, text, payload } = options;
  const all = { queue, name, error, group, worker, reason, status, from, until, text, payload };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Milliseconds of `90s`, `15m`, `2h`, `7d`; undefined for any other text. */
export function spanOf(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? 0);
}

function timeOf(option: string): (text: string) => number {
  return (text) => {
    const span = spanOf(text);
    if (span !== undefined) return Math.max(0, Date.now() - span);
    const date = /^\d{4}-\d\d/.test(text) ? Date.parse(text) : NaN;
    const at = /^\d{10,15}$/.test(text) ? Number(text) : date;
    if (Number.isFinite(at) && at >= 0) return at;
    throw new UsageError(
      `${option}: found "${text}", allowed is a date (2026-01-31T08:00Z), milliseconds, or an age (90s, 15m, 2h, 7d)`,
    );
  };
}

function fieldOf(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - 1) return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
  throw new UsageError(`--payload: found "${text}", write <path>=<value>, such as user.id=7`);
}

/** The id that begins like this; an id that is whole is not looked for. */
export async function wholeId(what: string, begun: string, list: FetchPage<{ id: string }>): Promise<string> {
  if (WHOLE_ID.test(begun)) return begun;
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
