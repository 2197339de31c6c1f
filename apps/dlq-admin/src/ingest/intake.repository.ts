import { bulkInsertReturning, bulkQuery, dialectOf, type EntityManager, type SqlValue } from '#database';
import { faultPoint } from '#service';
import { markFilesFailed, type OriginQueues } from './files.repository.js';
import { searchTextOf, type LetterDraft } from './letter-draft.js';
import { fateOf, type KnownLetter } from './fate.js';
import { appendHistory } from './history.repository.js';
import { parseRedriveJobId } from './redrive-id.js';
import { indexLetters, type LetterText } from './search-index.repository.js';
import { ensureGroups, tally, type TallyChange } from './tallies.repository.js';

export interface IntakeReport {
  added: number;
  reopened: number;
  duplicates: number;
}

const COLUMNS = {
  queue: 'text',
  job_id: 'text',
  name: 'text',
  payload: 'text',
  redacted_paths: 'text',
  options: 'text',
  reason: 'text',
  error_name: 'text',
  error_message: 'text',
  stack: 'text',
  fingerprint: 'text',
  attempts_made: 'int',
  attempts: 'text',
  last_worker_id: 'text',
  enqueued_at: 'int',
  failed_at: 'int',
  dead_lettered_at: 'int',
  trace: 'text',
} as const;

const REOPENED = {
  id: 'int',
  reason: 'text',
  error_name: 'text',
  error_message: 'text',
  stack: 'text',
  fingerprint: 'text',
  attempts_made: 'int',
  attempts: 'text',
  last_worker_id: 'text',
  failed_at: 'int',
  dead_lettered_at: 'int',
} as const;

/**
 * Stores dead letters in the caller's transaction. A failure is stored once however often it is delivered; a job that
 * fails again (redriven by us, or by another's hand) reopens its letter, with the failure before in its history.
 */
export async function takeIn(
  tx: EntityManager,
  drafts: readonly LetterDraft[],
  queues: OriginQueues,
): Promise<IntakeReport> {
  const latest = newestOfEach(drafts);
  const known = await findKnown(tx, latest);
  const fates = latest.map((draft) => ({ draft, fate: fateOf(draft, known) }));
  const fresh = fates.flatMap(({ draft, fate }) => (fate.kind === 'new' ? [draft] : []));
  const again = fates.flatMap(({ draft, fate }) =>
    fate.kind === 'again' ? [{ draft, letter: fate.letter }] : [],
  );
  await ensureGroups(tx, [...fresh, ...again.map(({ draft }) => draft)]);
  const texts = await insertLetters(tx, fresh);
  await faultPoint('dlq-admin.intake-after-insert');
  await reopen(tx, again);
  await tally(tx, [...fresh.map(arrival), ...again.flatMap(comeback)]);
  await markFilesFailed(tx, [...fresh, ...again.map(({ draft }) => draft)], queues);
  await indexLetters(tx, [...texts, ...again.map(textAgain)]);
  return {
    added: fresh.length,
    reopened: again.length,
    duplicates: drafts.length - fresh.length - again.length,
  };
}

/** A delivery may hold one job twice; the newest failure counts. */
function newestOfEach(drafts: readonly LetterDraft[]): LetterDraft[] {
  const byJob = new Map<string, LetterDraft>();
  for (const draft of drafts) {
    const key = JSON.stringify([draft.queue, draft.jobId]);
    const other = byJob.get(key);
    if (!other || other.failedAt < draft.failedAt) byJob.set(key, draft);
  }
  return [...byJob.values()];
}

async function findKnown(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<KnownLetter[]> {
  const columns = `d.id, d.queue, d.job_id AS "jobId", d.status, d.replay_count AS "replayCount",
    d.failed_at AS "failedAt", d.fingerprint, d.last_worker_id AS "lastWorkerId", d.error_name AS "errorName",
    d.error_message AS "errorMessage", d.reason, d.name, d.payload`;
  const lock = dialectOf(tx) === 'postgres' ? ' ORDER BY d.id FOR UPDATE OF d' : '';
  const byJob = await bulkQuery<KnownLetter>(
    tx,
    {
      columns: { queue: 'text', job_id: 'text' },
      alias: 'v',
      rows: drafts.map(({ queue, jobId }) => [queue, jobId]),
    },
    (source) =>
      `SELECT ${columns} FROM dead_letters d JOIN ${source} ON v.queue = d.queue AND v.job_id = d.job_id${lock}`,
  );
  const redriven = drafts.flatMap(({ jobId }) => parseRedriveJobId(jobId)?.letterId ?? []);
  const byRedrive = await bulkQuery<KnownLetter>(
    tx,
    { columns: { id: 'int' }, alias: 'v', rows: [...new Set(redriven)].map((id) => [id]) },
    (source) => `SELECT ${columns} FROM dead_letters d JOIN ${source} ON v.id = d.id${lock}`,
  );
  return [...byJob, ...byRedrive];
}

interface Inserted {
  id: number;
  queue: string;
  jobId: string;
  deadLetteredAt: number;
  reason: string;
}

async function insertLetters(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<LetterText[]> {
  const inserted = await bulkInsertReturning<Inserted>(
    tx,
    { table: 'dead_letters', columns: COLUMNS, rows: drafts.map(rowOf) },
    'id, queue, job_id AS "jobId", dead_lettered_at AS "deadLetteredAt", reason',
  );
  await appendHistory(
    tx,
    inserted.map(({ id, deadLetteredAt, reason }) => ({
      letterId: id,
      at: deadLetteredAt,
      actor: 'system',
      event: 'dead-lettered',
      details: { reason },
    })),
  );
  const keyOf = ({ queue, jobId }: { queue: string; jobId: string }): string =>
    JSON.stringify([queue, jobId]);
  const texts = new Map(drafts.map((draft) => [keyOf(draft), draft.searchText]));
  return inserted.map((row) => ({ id: row.id, text: texts.get(keyOf(row)) ?? '' }));
}

/** The letter keeps its own id and payload, as they were before the redrive. */
function textAgain({ draft, letter }: Comeback): LetterText {
  const { jobId, name, payload } = letter;
  return { id: letter.id, text: searchTextOf({ ...draft, jobId, name, payload }) };
}

function rowOf(draft: LetterDraft): SqlValue[] {
  return [
    draft.queue,
    draft.jobId,
    draft.name,
    draft.payload,
    JSON.stringify(draft.redactedPaths),
    draft.options,
    draft.reason,
    draft.errorName,
    draft.errorMessage,
    draft.stack,
    draft.cause.fingerprint,
    draft.attemptsMade,
    draft.attempts,
    draft.lastWorkerId,
    draft.enqueuedAt,
    draft.failedAt,
    draft.deadLetteredAt,
    draft.trace,
  ];
}

interface Comeback {
  draft: LetterDraft;
  letter: KnownLetter;
}

async function reopen(tx: EntityManager, comebacks: readonly Comeback[]): Promise<void> {
  await bulkQuery(
    tx,
    { columns: REOPENED, alias: 'v', rows: comebacks.map(reopenedRow) },
    (source) =>
      `UPDATE dead_letters SET status = 'open', version = version + 1, ${Object.keys(REOPENED)
        .filter((name) => name !== 'id')
        .map((name) => `${name} = v.${name}`)
        .join(', ')} FROM ${source} WHERE dead_letters.id = v.id RETURNING dead_letters.id`,
  );
  await appendHistory(
    tx,
    comebacks.map(({ draft, letter }) => ({
      letterId: letter.id,
      at: draft.deadLetteredAt,
      actor: 'system',
      event: 'reopened',
      details: {
        replay: letter.replayCount,
        was: letter.status,
        before: {
          error: `${letter.errorName}: ${letter.errorMessage.slice(0, 1_000)}`,
          failedAt: letter.failedAt,
        },
      },
    })),
  );
}

function reopenedRow({ draft, letter }: Comeback): SqlValue[] {
  return [
    letter.id,
    draft.reason,
    draft.errorName,
    draft.errorMessage,
    draft.stack,
    draft.cause.fingerprint,
    draft.attemptsMade,
    draft.attempts,
    draft.lastWorkerId,
    draft.failedAt,
    draft.deadLetteredAt,
  ];
}

const arrival = (draft: LetterDraft): TallyChange => ({
  fingerprint: draft.cause.fingerprint,
  queue: draft.queue,
  worker: draft.lastWorkerId,
  total: 1,
  open: 1,
  seenAt: draft.deadLetteredAt,
});

function comeback({ draft, letter }: Comeback): TallyChange[] {
  const left: TallyChange = {
    fingerprint: letter.fingerprint,
    queue: letter.queue,
    worker: letter.lastWorkerId,
    total: -1,
    open: letter.status === 'open' ? -1 : 0,
    seenAt: 0,
  };
  return [left, { ...arrival(draft), queue: letter.queue }];
}
