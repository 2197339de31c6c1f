import { Option, type Command } from 'commander';
import { LETTER_STATUSES, REASONS, type LetterFilter } from '#dlq-client';
import { UsageError } from '../cli.errors.js';

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
