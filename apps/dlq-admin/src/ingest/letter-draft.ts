import { DEAD_LETTER, type DeadLetter } from '#contracts';
import { storableText } from '#database';
import { redactText } from '#service';
import { causeOf, type Cause } from './fingerprint.js';
import { maskSecrets } from './mask.js';

/** A dead letter as it will be stored: masked, fingerprinted, bounded. */
export interface LetterDraft {
  queue: string;
  jobId: string;
  name: string;
  payload: string;
  redactedPaths: string[];
  options: string;
  reason: DeadLetter['reason'];
  errorName: string;
  errorMessage: string;
  stack: string;
  cause: Cause;
  attemptsMade: number;
  attempts: string;
  lastWorkerId: string;
  enqueuedAt: number;
  failedAt: number;
  deadLetteredAt: number;
  trace: string | null;
  searchText: string;
  /** The files that the payload names, to be marked failed with it. */
  data: unknown;
}

const MAX_SEARCH = 32_768;
const MAX_MESSAGE = 16_384;
const MAX_TOLD = 512;

export interface DraftOptions {
  redactPaths: readonly string[];
}

export function draftOf(letter: DeadLetter, { redactPaths }: DraftOptions): LetterDraft {
  const masked = maskSecrets(letter.data, redactPaths);
  const payload = storedJson(masked.value);
  const errorMessage = clean(letter.errorMessage).slice(0, MAX_MESSAGE);
  const errorName = clean(letter.errorName);
  const stack = clean(letter.stack);
  const facts = {
    queue: clean(letter.queue),
    jobId: clean(letter.jobId),
    name: clean(letter.jobName),
    errorName,
    errorMessage,
    payload,
  };
  return {
    ...facts,
    redactedPaths: masked.paths.map(storableText),
    options: storedJson(maskSecrets(letter.options).value),
    reason: letter.reason,
    stack,
    cause: causeOf(errorName, errorMessage, stack),
    attemptsMade: letter.attemptsMade,
    attempts: storedJson(
      letter.attempts.map((one) => ({ ...one, error: redactText(one.error).slice(0, 2_000) })),
    ),
    lastWorkerId: clean(letter.lastWorkerId),
    enqueuedAt: letter.enqueuedAt,
    failedAt: letter.failedAt,
    deadLetteredAt: letter.deadLetteredAt,
    trace: letter.trace ? clean(letter.trace) : null,
    searchText: searchTextOf(facts),
    data: masked.value,
  };
}

/** What a text search looks at, in lower case: ids, error, payload. */
export function searchTextOf(facts: {
  jobId: string;
  name: string;
  errorName: string;
  errorMessage: string;
  payload: string;
}): string {
  const { jobId, name, errorName, errorMessage, payload } = facts;
  const text = `${jobId}\n${name}\n${errorName}: ${errorMessage}\n${payload}`;
  return storableText(text.slice(0, MAX_SEARCH).toLowerCase());
}

/** JSON text that both databases store and JSON.parse reads back; what cannot be written is replaced by a note. */
export function storedJson(value: unknown): string {
  try {
    return storableText(JSON.stringify(value) ?? 'null');
  } catch {
    // Nested deeper than the stack reaches.
    return '{"unreadable":"nested too deeply"}';
  }
}

/** A job in the dead-letter queue that is no dead letter: kept, as the letter of itself. */
export function draftOfStranger(
  data: unknown,
  facts: { queue: string; jobId: string; workerId: string; now: number },
  options: DraftOptions,
): LetterDraft {
  const faults = DEAD_LETTER.faultsOf(data);
  const message = `not a dead letter: ${faults
    .slice(0, 5)
    .map(({ path, rule }) => `${path || 'payload'} is not ${rule}`)
    .join('; ')}`;
  return draftOf(
    {
      queue: facts.queue,
      jobId: facts.jobId,
      jobName: 'stranger',
      data,
      options: {},
      reason: 'invalid',
      errorName: 'InvalidPayloadError',
      errorMessage: message,
      stack: message,
      attemptsMade: 1,
      attempts: [],
      lastWorkerId: facts.workerId,
      enqueuedAt: facts.now,
      failedAt: facts.now,
      deadLetteredAt: facts.now,
    },
    options,
  );
}

/** What is known of a letter that cannot be taken in; itself it lies in another queue, as it is. */
export function draftOfSetAside(
  data: unknown,
  error: unknown,
  facts: { queue: string; jobId: string; workerId: string; now: number; asideQueue: string },
): LetterDraft {
  const { queue, jobId } = typeof data === 'object' && data !== null ? (data as Partial<DeadLetter>) : {};
  const told = (text: unknown, instead: string): string =>
    typeof text === 'string' && text.length <= MAX_TOLD ? text : instead;
  const where = { queue: told(queue, facts.queue), jobId: told(jobId, facts.jobId) };
  const stranger = { ...facts, ...where };
  const draft = draftOfStranger({ setAside: facts.asideQueue, jobId: facts.jobId }, stranger, {
    redactPaths: [],
  });
  const errorMessage = clean(`could not be taken in: ${String(error)}`).slice(0, MAX_MESSAGE);
  return { ...draft, name: 'set aside', errorName: 'IntakeError', errorMessage };
}

const clean = (text: string): string => storableText(redactText(text));
