import type { DeadLetterReason } from '#contracts';

/** One failed attempt as it stands in the job's stack list: facts in the first line, the readable stack below. */
export interface FailureRecord {
  at?: number;
  workerId?: string;
  errorName: string;
  message: string;
  reason: DeadLetterReason;
  stack: string;
}

export const MAX_MESSAGE = 8_192;
export const MAX_STACK = 65_536;
const MAX_CAUSES = 10;
const MARK = '#millrace ';

/** The text, or its beginning with a note of how much is missing. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  const note = ` … [${text.length - max} more characters cut]`;
  return text.slice(0, Math.max(0, max - note.length)) + note;
}

/** The stack of an error followed by the stacks of its causes, bounded in depth and size. */
export function stackWithCauses(error: unknown): string {
  const parts: string[] = [];
  const seen = new Set<unknown>();
  for (
    let current = error;
    current !== undefined && parts.length < MAX_CAUSES && !seen.has(current);
    current = current instanceof Error ? current.cause : undefined
  ) {
    seen.add(current);
    parts.push(stackOf(current));
  }
  return shorten(parts.join('\nCaused by: '), MAX_STACK);
}

export function describeFailure(
  error: unknown,
  facts: { at: number; workerId: string; reason: DeadLetterReason },
): FailureRecord {
  const isError = error instanceof Error;
  return {
    ...facts,
    errorName: shorten(isError ? error.name : typeof error, 512),
    message: shorten(isError ? error.message : printed(error), MAX_MESSAGE),
    stack: stackWithCauses(error),
  };
}

export function encodeFailure({ stack, ...facts }: FailureRecord): string {
  return `${MARK}${JSON.stringify(facts)}\n${stack}`;
}

/** Reads what `encodeFailure` wrote, or makes the best of a plain stack. */
export function decodeFailure(text: string): FailureRecord {
  return (text.startsWith(MARK) && decodeMarked(text)) || plain(text);
}

function decodeMarked(text: string): FailureRecord | null {
  const end = text.indexOf('\n');
  if (end < 0) return null;
  try {
    const facts = JSON.parse(text.slice(MARK.length, end)) as Omit<FailureRecord, 'stack'>;
    return { ...facts, stack: text.slice(end + 1) };
  } catch {
    return null;
  }
}

function plain(text: string): FailureRecord {
  const [first = ''] = text.split('\n', 1);
  const match = /^(?:Uncaught )?([\w$.]*Error): ?(.*)$/.exec(first);
  return {
    errorName: shorten(match?.[1] ?? 'Error', 512),
    message: shorten(match?.[2] ?? first, MAX_MESSAGE),
    reason: 'error',
    stack: shorten(text, MAX_STACK),
  };
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return printed(error);
  const heading = `${error.name}: ${shorten(error.message, MAX_MESSAGE)}`;
  const frames = error.stack?.slice(error.stack.indexOf('\n    at ')) ?? '';
  return frames.startsWith('\n    at ') ? heading + frames : heading;
}

function printed(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
