import { hash } from 'node:crypto';
import type { DeadLetter } from '#contracts';
import { traceOf, triedBefore } from './held-job.js';
import { decodeFailure, MAX_MESSAGE, shorten, type FailureRecord } from './failure-record.js';

/** A failed job as its hash stands in Redis; nothing in it is trusted. */
export type RawJob = Readonly<Record<string, string | undefined>>;

export interface FailedJob {
  queue: string;
  jobId: string;
  /** When it entered the failed set, in milliseconds; tells one failure of a requeued job from the next. */
  failedAt: number;
  raw: RawJob;
}

const MAX_DATA = 8 * 1024 * 1024;
const MAX_PARSED = 64 * 1024 * 1024;
const MAX_OPTIONS = 65_536;
const MAX_DEPTH = 500;
const MAX_ATTEMPTS_KEPT = 50;
const HEAD = 65_536;

export const STALL_LIMIT_REASON = 'job stalled more than allowable limit';
export const CORRUPT_RECORD_REASON = 'the job record is corrupt';

/**
 * The id of a failure's dead letter: the same whoever copies it, and another one when the job is requeued and fails
 * again. Never all digits, never with a colon, as BullMQ wants.
 */
export function deadLetterId({ queue, jobId, failedAt }: Omit<FailedJob, 'raw'>): string {
  return `dl-${hash('sha256', JSON.stringify([queue, jobId, failedAt])).slice(0, 40)}`;
}

/** Everything known about a permanent failure, in bounded size. Total: there is no record it throws on. */
export function enrich({ queue, jobId, failedAt, raw }: FailedJob, deadLetteredAt: number): DeadLetter {
  const history = attemptHistory(raw);
  const last = history.at(-1) ?? unexplained(raw);
  const data = readJson(raw.data, MAX_DATA);
  const options = readJson(raw.opts ?? '{}', MAX_OPTIONS);
  const trace = traceOf(data);
  return {
    queue,
    jobId: shorten(jobId, 512),
    jobName: shorten(raw.name ?? '', 512),
    data,
    options,
    reason: reasonOf(raw, last),
    errorName: last.errorName,
    errorMessage: shorten(raw.failedReason ?? last.message, MAX_MESSAGE),
    stack: last.stack,
    attemptsMade: triedBefore(options) + wholeNumber(raw.atm ?? raw.attemptsMade),
    attempts: history.slice(-MAX_ATTEMPTS_KEPT).map((record, index, kept) => ({
      attempt: history.length - kept.length + index + 1,
      error: shorten(`${record.errorName}: ${record.message}`, MAX_MESSAGE),
      ...(record.at !== undefined && { at: record.at }),
    })),
    lastWorkerId: shorten(last.workerId ?? raw.pb ?? 'unknown', 512),
    enqueuedAt: wholeNumber(raw.timestamp),
    failedAt,
    deadLetteredAt,
    ...(trace !== undefined && { trace }),
  };
}

function attemptHistory(raw: RawJob): FailureRecord[] {
  try {
    const stacks: unknown = JSON.parse(raw.stacktrace ?? '[]');
    return Array.isArray(stacks)
      ? stacks.filter((item) => typeof item === 'string').map((item) => decodeFailure(item))
      : [];
  } catch {
    return [];
  }
}

function unexplained(raw: RawJob): FailureRecord {
  const message = raw.failedReason ?? 'the job failed without a recorded error';
  return {
    errorName: 'Error',
    message: shorten(message, MAX_MESSAGE),
    reason: 'error',
    stack: shorten(message, HEAD),
  };
}

function reasonOf(raw: RawJob, last: FailureRecord): DeadLetter['reason'] {
  if (raw.failedReason === STALL_LIMIT_REASON) return 'stalled';
  if (raw.failedReason?.startsWith(CORRUPT_RECORD_REASON)) return 'invalid';
  return last.reason;
}

/** The parsed text; what cannot be parsed or is too long is kept as text, marked, and cut. */
function readJson(text: string | undefined, max: number): unknown {
  if (text === undefined) return { unreadable: 'missing' };
  const cut = (unreadable: string): object => ({
    ...{ unreadable, characters: text.length, head: text.slice(0, HEAD) },
  });
  if (text.length > MAX_PARSED) return cut('too long');
  if (isDeep(text)) return cut('nested too deeply');
  try {
    const value = JSON.parse(text) as unknown;
    return text.length <= max ? value : (withoutLists(value, max) ?? cut('too long'));
  } catch {
    return cut('not JSON');
  }
}

/** What a job is about, without the lists that make it too long: its rows know them. Undefined when that does not help. */
function withoutLists(value: unknown, max: number): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const lists = Object.entries(value).filter(([, field]) => Array.isArray(field));
  const omitted = Object.fromEntries(lists.map(([name, list]) => [name, (list as unknown[]).length]));
  const rest = { ...value, ...Object.fromEntries(lists.map(([name]) => [name, []])), omitted };
  return JSON.stringify(rest).length <= max ? rest : undefined;
}

/** Whether it nests so deeply that writing it as JSON again, or walking it, could exhaust the stack. */
function isDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') inString = !inString;
    else if (char === '\\') at++;
    else if (!inString && (char === '[' || char === '{') && ++depth > MAX_DEPTH) return true;
    else if (!inString && (char === ']' || char === '}')) depth--;
  }
  return false;
}

function wholeNumber(text: string | undefined): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
