import { DEAD_LETTER, type DeadLetter } from '#contracts';
import { storableText } from '#database';
import { redactText } from '#service';
import { causeOf, type Cause } from './fingerprint.js';
import { maskSecrets } from './mask.js';

type Told = Pick<DeadLetter, 'reason' | 'attemptsMade' | 'enqueuedAt' | 'failedAt' | 'deadLetteredAt'>;
type Texts = 'queue' | 'jobId' | 'name' | 'errorName' | 'errorMessage' | 'stack' | 'lastWorkerId';
type JsonTexts = 'payload' | 'redactedPaths' | 'options' | 'attempts';

/** A dead letter as it will be stored: masked, fingerprinted, bounded. */
export interface LetterDraft extends Told, Record<Texts | JsonTexts, string> {
  trace: string | null;
  cause: Cause;
  /** The payload as a value: it names the files that are marked failed with it. */
  data: unknown;
}

const MAX_SEARCH = 32_768;
const MAX_MESSAGE = 16_384;
const MAX_TOLD = 512;

export function draftOf(letter: DeadLetter, redactPaths: readonly string[]): LetterDraft {
  const { reason, attemptsMade, enqueuedAt, failedAt, deadLetteredAt } = letter;
  const masked = maskSecrets(letter.data, redactPaths);
  const errorMessage = clean(letter.errorMessage).slice(0, MAX_MESSAGE);
  const [errorName, stack] = [clean(letter.errorName), clean(letter.stack)];
  const attempts = letter.attempts.map((one) => ({ ...one, error: redactText(one.error).slice(0, 2_000) }));
  return {
    ...{ reason, attemptsMade, enqueuedAt, failedAt, deadLetteredAt, errorName, errorMessage, stack },
    queue: clean(letter.queue),
    jobId: clean(letter.jobId),
    name: clean(letter.jobName),
    lastWorkerId: clean(letter.lastWorkerId),
    trace: letter.trace ? clean(letter.trace) : null,
    payload: storedJson(masked.value),
    redactedPaths: JSON.stringify(masked.paths.map(storableText)),
    options: storedJson(maskSecrets(letter.options).value),
    attempts: storedJson(attempts),
    cause: causeOf(errorName, errorMessage, stack),
    data: masked.value,
  };
}

/** What a text search looks at, in lower case: ids, error, payload. */
export function searchTextOf(
  letter: Pick<LetterDraft, 'jobId' | 'name' | 'errorName' | 'errorMessage' | 'payload'>,
): string {
  const { jobId, name, errorName, errorMessage, payload } = letter;
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

/** Where a job lay that cannot be taken in as a letter of its own, and who found it. */
export interface Found {
  queue: string;
  jobId: string;
  workerId: string;
  now: number;
}

/** A job in the dead-letter queue that is no dead letter: kept, as the letter of itself. */
export function strangerOf(data: unknown, found: Found): DeadLetter {
  const faults = DEAD_LETTER.faultsOf(data).slice(0, 5);
  const rules = faults.map(({ path, rule }) => `${path || 'payload'} is not ${rule}`);
  const errorMessage = `not a dead letter: ${rules.join('; ')}`;
  return ownLetter(found, { jobName: 'stranger', data, errorName: 'InvalidPayloadError', errorMessage });
}

/** What is known of a letter that cannot be taken in; itself it lies in another queue, as it is. */
export function setAsideOf(data: unknown, error: unknown, found: Found & { asideQueue: string }): DeadLetter {
  const { queue, jobId } = typeof data === 'object' && data !== null ? (data as Partial<DeadLetter>) : {};
  const told = (text: unknown, instead: string): string =>
    typeof text === 'string' && text.length <= MAX_TOLD ? text : instead;
  const where = { ...found, queue: told(queue, found.queue), jobId: told(jobId, found.jobId) };
  return ownLetter(where, {
    jobName: 'set aside',
    data: { setAside: found.asideQueue, jobId: found.jobId },
    errorName: 'IntakeError',
    errorMessage: `could not be taken in: ${String(error)}`.slice(0, MAX_MESSAGE),
  });
}

function ownLetter(
  { queue, jobId, workerId, now }: Found,
  told: Pick<DeadLetter, 'jobName' | 'data' | 'errorName' | 'errorMessage'>,
): DeadLetter {
  const at = { enqueuedAt: now, failedAt: now, deadLetteredAt: now };
  const attempts = { options: {}, attemptsMade: 1, attempts: [], lastWorkerId: workerId };
  return { queue, jobId, reason: 'invalid', stack: told.errorMessage, ...told, ...attempts, ...at };
}

const clean = (text: string): string => storableText(redactText(text));
