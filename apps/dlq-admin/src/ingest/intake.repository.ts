import { FILE_JOB, isList } from '#contracts';
import { bulkExecute, bulkInsertReturning, bulkQuery, dialectOf, type EntityManager } from '#database';
import { columnsOf, DeadLetterEntity, rowsOf, typesOf } from '#database';
import { jobIdOf } from '#outbox';
import { faultPoint } from '#service';
import { classifyFailure, KNOWN_LETTER, type Fate, type KnownLetter } from './classify-failure.js';
import { searchTextOf, type LetterDraft } from './letter-draft.js';
import { appendHistory, indexLetters, type LetterText } from './letter-records.repository.js';
import { placed, tally, type TallyChange } from './letter-groups.repository.js';
import { parseRequeueJobId } from './requeue-id.js';

/** How many; `failed` are files that are failed from now on. */
type IntakeReport = Record<'added' | 'reopened' | 'duplicates' | 'failed', number>;

/** What a failure tells anew of a letter that is there. */
const FAILURE = [
  ...(['reason', 'errorName', 'errorMessage', 'stack', 'fingerprint', 'attemptsMade', 'attempts'] as const),
  ...(['lastWorkerId', 'failedAt', 'deadLetteredAt'] as const),
];

const SET_FAILURE = Object.keys(typesOf(DeadLetterEntity, FAILURE))
  .map((column) => `${column} = v.${column}`)
  .join(', ');

const LETTER = [
  ...(['queue', 'jobId', 'name', 'payload', 'redactedPaths', 'options', 'enqueuedAt', 'trace'] as const),
  ...FAILURE,
];

const KNOWN = columnsOf<DeadLetterEntity>([...KNOWN_LETTER, 'payload'], 'd');

/**
 * Stores dead letters in the caller's transaction. A failure is stored once however often it is delivered; a job that
 * fails again (requeued by us, or by another's hand) reopens its letter, with the failure before in its history.
 */
export async function takeIn(
  tx: EntityManager,
  drafts: readonly LetterDraft[],
  queues: OriginQueues,
): Promise<IntakeReport> {
  const latest = newestOfEach(drafts);
  const known = await findKnown(tx, latest);
  const fates = new Map(latest.map((draft) => [keyOf(draft), classifyFailure(draft, known)]));
  const fateOf = (draft: LetterDraft): Fate | undefined => fates.get(keyOf(draft));
  const news = latest.filter((draft) => fateOf(draft)?.kind !== 'duplicate');
  const taken = await placed(tx, news);
  const fresh = taken.filter((draft) => fateOf(draft)?.kind === 'new');
  const again = taken.flatMap((draft) => {
    const fate = fateOf(draft);
    return fate?.kind === 'again' ? [{ draft, letter: fate.letter }] : [];
  });
  const texts = await insertLetters(tx, fresh);
  await faultPoint('dlq-admin.intake-after-insert');
  await reopen(tx, again);
  await tally(tx, [...fresh.map(arrival), ...again.flatMap(comeback)]);
  const failed = await markFilesFailed(tx, taken, queues);
  await indexLetters(tx, [...texts, ...again.map(textAgain)]);
  const duplicates = drafts.length - taken.length;
  return { added: fresh.length, reopened: again.length, duplicates, failed };
}

const keyOf = ({ queue, jobId }: { queue: string; jobId: string }): string => JSON.stringify([queue, jobId]);

/** A delivery may hold one job twice; the newest failure counts. */
function newestOfEach(drafts: readonly LetterDraft[]): LetterDraft[] {
  const byJob = new Map<string, LetterDraft>();
  for (const draft of drafts) {
    const other = byJob.get(keyOf(draft));
    if (!other || other.failedAt < draft.failedAt) byJob.set(keyOf(draft), draft);
  }
  return [...byJob.values()];
}

async function findKnown(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<KnownLetter[]> {
  const lock = dialectOf(tx) === 'postgres' ? ' ORDER BY d.id FOR UPDATE OF d' : '';
  const byJob = await bulkQuery<KnownLetter>(
    tx,
    { ...rowsOf(DeadLetterEntity, ['queue', 'jobId'], drafts), alias: 'v' },
    (source) =>
      `SELECT ${KNOWN} FROM dead_letters d JOIN ${source} ON v.queue = d.queue AND v.job_id = d.job_id${lock}`,
  );
  const requeued = drafts.flatMap(({ jobId }) => parseRequeueJobId(jobId)?.letterId ?? []);
  const byRequeue = await bulkQuery<KnownLetter>(
    tx,
    { columns: { id: 'int' }, alias: 'v', rows: [...new Set(requeued)].map((id) => [id]) },
    (source) => `SELECT ${KNOWN} FROM dead_letters d JOIN ${source} ON v.id = d.id${lock}`,
  );
  return [...byJob, ...byRequeue];
}

const INSERTED = ['id', 'queue', 'jobId', 'deadLetteredAt', 'reason'] as const;
type Inserted = Pick<DeadLetterEntity, (typeof INSERTED)[number]>;

async function insertLetters(tx: EntityManager, drafts: readonly LetterDraft[]): Promise<LetterText[]> {
  const inserted = await bulkInsertReturning<Inserted>(
    tx,
    rowsOf(DeadLetterEntity, LETTER, drafts.map(stored)),
    columnsOf<DeadLetterEntity>(INSERTED),
  );
  const entries = inserted.map(({ id: letterId, deadLetteredAt: at, reason }) => {
    return { letterId, at, actor: 'system', event: 'dead-lettered', details: { reason } };
  });
  await appendHistory(tx, entries);
  const texts = new Map(drafts.map((draft) => [keyOf(draft), searchTextOf(draft)]));
  return inserted.map((row) => ({ letterId: row.id, text: texts.get(keyOf(row)) ?? '' }));
}

/** The letter keeps its own id and payload, as they were before the requeue. */
function textAgain({ draft, letter }: Comeback): LetterText {
  const { jobId, name, payload } = letter;
  return { letterId: letter.id, text: searchTextOf({ ...draft, jobId, name, payload }) };
}

const stored = (draft: LetterDraft) => ({ ...draft, fingerprint: draft.cause.fingerprint });

interface Comeback {
  draft: LetterDraft;
  letter: KnownLetter;
}

async function reopen(tx: EntityManager, comebacks: readonly Comeback[]): Promise<void> {
  const rows = comebacks.map(({ draft, letter }) => ({ ...stored(draft), id: letter.id }));
  await bulkExecute(
    tx,
    { ...rowsOf(DeadLetterEntity, ['id', ...FAILURE], rows), alias: 'v' },
    (source) => `UPDATE dead_letters SET status = 'open', resolved_at = NULL, resolved_by = NULL,
      version = version + 1, ${SET_FAILURE} FROM ${source} WHERE dead_letters.id = v.id`,
  );
  const entries = comebacks.map(({ draft, letter }) => {
    const { replayCount: replay, status: was, errorName, errorMessage, failedAt } = letter;
    const before = { error: `${errorName}: ${errorMessage.slice(0, 1_000)}`, failedAt };
    const details = { replay, was, before };
    return { letterId: letter.id, at: draft.deadLetteredAt, actor: 'system', event: 'reopened', details };
  });
  await appendHistory(tx, entries);
}

function arrival({ cause, queue, lastWorkerId: worker, deadLetteredAt }: LetterDraft): TallyChange {
  return { fingerprint: cause.fingerprint, queue, worker, total: 1, open: 1, lastSeenAt: deadLetteredAt };
}

function comeback({ draft, letter }: Comeback): TallyChange[] {
  const { fingerprint, queue, lastWorkerId: worker } = letter;
  const open = letter.status === 'open' ? -1 : 0;
  const left = { fingerprint, queue, worker, total: -1, open, lastSeenAt: 0 };
  return [left, { ...arrival(draft), queue }];
}

interface OriginQueues {
  files: string;
  batches: string;
}

type FailedJob = Pick<LetterDraft, 'queue' | 'jobId' | 'data' | 'errorName'>;

const FAILED = "status = 'failed', error_status = v.error, worker_id = NULL, claimed_until = NULL";
const WAITING = "files.status IN ('pending', 'processing', 'batched')";

/**
 * Marks the files of failed jobs as failed, in the transaction that stores their letters: a file is failed exactly if a
 * letter says why. A file that has moved on (another revision, analyzed, skipped) is left alone. Returns how many were marked.
 */
async function markFilesFailed(
  tx: EntityManager,
  letters: readonly FailedJob[],
  queues: OriginQueues,
): Promise<number> {
  const files = letters.filter(({ queue }) => queue === queues.files).flatMap(fileOf);
  const alone = await bulkExecute(
    tx,
    { columns: { id: 'int', revision: 'int', error: 'text' }, alias: 'v', rows: files },
    (source) => `UPDATE files SET ${FAILED} FROM ${source}
      WHERE files.id = v.id AND files.revision = v.revision AND ${WAITING}`,
  );
  const batches = letters.filter(({ queue }) => queue === queues.batches).flatMap(batchesOf);
  const inBatches = await bulkExecute(
    tx,
    { columns: { id: 'text', error: 'text' }, alias: 'v', rows: batches },
    // Materialized, or SQLite may read all files to find these.
    (source) => `WITH items AS MATERIALIZED (
        SELECT i.file_id, i.revision, v.error FROM ${source} CROSS JOIN batch_items i WHERE i.batch_id = v.id)
      UPDATE files SET ${FAILED} FROM items v
      WHERE files.id = v.file_id AND files.revision = v.revision AND ${WAITING}`,
  );
  return alone + inBatches;
}

function fileOf({ data, errorName }: FailedJob): [number, number, string][] {
  if (FILE_JOB.faultsOf(data).length > 0) return [];
  const job = FILE_JOB.parse(data);
  // What fails is a file, with its own job and letter. The files of a list go on: recovery finds their job missing.
  return isList(job) ? [] : [[job.fileId, job.revision, errorName]];
}

/** The batch as the payload names it, or its first event's id; what the payload says of files may be cut or edited. */
function batchesOf({ jobId, data, errorName }: FailedJob): [string, string][] {
  const named = typeof data === 'object' && data !== null && 'id' in data ? data.id : undefined;
  const first = jobId.startsWith(jobIdOf('')) ? jobId.slice(jobIdOf('').length) : undefined;
  return [...new Set([named, first])].flatMap((id) => (typeof id === 'string' ? [[id, errorName]] : []));
}
