import {
  bulkQuery,
  columnsOf,
  DeadLetterEntity,
  dialectOf,
  storableText,
  type EntityManager,
} from '#database';
import { appendAll } from '#outbox';
import { faultPoint } from '#service';
import { appendHistory } from '../ingest/history.repository.js';
import { searchTextOf, storedJson } from '../ingest/letter-draft.js';
import { maskSecrets } from '../ingest/mask.js';
import { requeueEventId, requeueJobId } from '../ingest/requeue-id.js';
import { indexLetters } from '../ingest/search-index.repository.js';
import { tally } from '../ingest/tallies.repository.js';
import { requeueRefusal, type OriginContracts, type Refusal, type RequeueCandidate } from './verdict.js';

export interface ChangeContext {
  actor: string;
  now: number;
  note?: string;
  /** The bulk action it belongs to, for the history. */
  action?: string;
}

export interface RequeueRules {
  maxReplays: number;
  contracts: OriginContracts;
  redactPaths: readonly string[];
}

export interface ChangeReport {
  done: number[];
  skipped: { id: number; reason: Refusal }[];
}

export interface ChangeableLetter extends RequeueCandidate {
  id: number;
  fingerprint: string;
  worker: string;
  options: string;
  trace: string | null;
  /** Its last edit in the history; 0 without one. */
  edited: number;
}

const COLUMNS = `${columnsOf<DeadLetterEntity>(
  ['id', 'queue', 'status', 'payload', 'redactedPaths', 'options', 'trace', 'replayCount', 'fingerprint'],
  'd',
)}, d.last_worker_id AS worker,
  coalesce((SELECT max(h.id) FROM dead_letter_history h WHERE h.letter_id = d.id AND h.event = 'edited'), 0) AS edited`;

/** Reads letters and, on PostgreSQL, locks them until the end of the transaction, in one order. */
export async function lockLetters(
  tx: EntityManager,
  ids: readonly number[],
  scope: readonly string[] | null,
): Promise<ChangeableLetter[]> {
  const lock = dialectOf(tx) === 'postgres' ? ' FOR UPDATE OF d' : '';
  const rows = await bulkQuery<ChangeableLetter>(
    tx,
    { columns: { id: 'int' }, alias: 'v', rows: ids.map((id) => [id]) },
    (source) => `SELECT ${COLUMNS} FROM dead_letters d JOIN ${source} ON v.id = d.id ORDER BY d.id${lock}`,
  );
  const forgiven = await forgivenReplays(tx, rows);
  return rows
    .filter(({ queue }) => !scope || scope.includes(queue))
    .map((row) => ({ ...row, replaysForgiven: forgiven.get(row.id) ?? 0 }));
}

/** Redrives before the last edit: an edited payload is another payload, and gets its own chances. */
async function forgivenReplays(
  tx: EntityManager,
  rows: readonly { id: number; edited: number }[],
): Promise<Map<number, number>> {
  const edited = rows.filter((row) => row.edited > 0).map((row) => [row.id, row.edited]);
  const counts = await bulkQuery<{ id: number; count: number }>(
    tx,
    { columns: { id: 'int', edited: 'int' }, alias: 'v', rows: edited },
    (source) => `SELECT v.id AS id, count(*) AS count FROM dead_letter_history h JOIN ${source}
      ON h.letter_id = v.id AND h.id < v.edited WHERE h.event = 'requeued' GROUP BY v.id`,
  );
  return new Map(counts.map(({ id, count }) => [id, count]));
}

// `status || ''` keeps SQLite from walking all open letters by their index instead of looking up these by id.

/**
 * Requeues letters in the caller's transaction: each is marked and its job is in the outbox, or neither. One redrive of a
 * letter at a time: only an open letter is taken, and it is open again only when that redrive has failed.
 */
export async function requeueLetters(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  rules: RequeueRules,
  context: ChangeContext,
): Promise<ChangeReport> {
  const judged = letters.map((letter) => ({ letter, refusal: requeueRefusal(letter, rules) }));
  const taken = judged.flatMap(({ letter, refusal }) => (refusal ? [] : [letter]));
  await bulkQuery(
    tx,
    {
      columns: { id: 'int', replayed_at: 'int', job_id: 'text' },
      rows: taken.map(({ id, replayCount }) => [id, context.now, requeueJobId(id, replayCount + 1)]),
      alias: 'v',
    },
    (
      source,
    ) => `UPDATE dead_letters SET status = 'requeued', version = version + 1, replay_count = replay_count + 1,
        replayed_at = v.replayed_at, replay_job_id = v.job_id
      FROM ${source} WHERE dead_letters.id = v.id AND dead_letters.status || '' = 'open' RETURNING dead_letters.id`,
  );
  await faultPoint('dlq-admin.requeue-after-mark');
  await appendAll(tx, taken.map(redrive));
  await forgetSecrets(tx, taken, rules);
  await changed(tx, taken, -1, 'requeued', context, ({ id, replayCount }) => ({
    replay: replayCount + 1,
    jobId: requeueJobId(id, replayCount + 1),
  }));
  return {
    done: taken.map(({ id }) => id),
    skipped: judged.flatMap(({ letter, refusal }) => (refusal ? [{ id: letter.id, reason: refusal }] : [])),
  };
}

/** Secrets that an edit has given for the redrive are in its job now, and no longer needed here. */
async function forgetSecrets(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  { redactPaths }: RequeueRules,
): Promise<void> {
  for (const { id, payload } of letters.filter(({ edited }) => edited > 0)) {
    const { value, paths } = maskSecrets(JSON.parse(payload), redactPaths);
    if (paths.length > 0)
      await tx.update(DeadLetterEntity, id, {
        payload: JSON.parse(storedJson(value)) as object,
        redactedPaths: paths.map(storableText),
      });
  }
}

function redrive(letter: ChangeableLetter): Parameters<typeof appendAll>[1][number] {
  const { attempts } = JSON.parse(letter.options) as { attempts?: unknown };
  return {
    id: requeueEventId(letter.id, letter.replayCount + 1),
    queue: letter.queue,
    eventName: 'dead-letter-requeued',
    payload: JSON.parse(letter.payload) as object,
    ...(typeof attempts === 'number' &&
      attempts >= 1 && { jobOptions: { attempts: Math.min(attempts, 100) } }),
    ...(letter.trace && { trace: letter.trace }),
  };
}

export async function discardLetters(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  context: ChangeContext,
): Promise<ChangeReport> {
  return move(tx, letters, { from: 'open', to: 'discarded', refusal: 'not-open', delta: -1 }, context);
}

export async function restoreLetters(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  context: ChangeContext,
): Promise<ChangeReport> {
  return move(tx, letters, { from: 'discarded', to: 'open', refusal: 'not-discarded', delta: 1 }, context);
}

interface Move {
  from: 'open' | 'discarded';
  to: 'open' | 'discarded';
  refusal: Refusal;
  delta: 1 | -1;
}

async function move(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  { from, to, refusal, delta }: Move,
  context: ChangeContext,
): Promise<ChangeReport> {
  const taken = letters.filter(({ status }) => status === from);
  await bulkQuery(
    tx,
    {
      columns: { id: 'int', status: 'text', note: 'text' },
      rows: taken.map(({ id }) => [id, to, context.note ?? null]),
      alias: 'v',
    },
    (
      source,
    ) => `UPDATE dead_letters SET status = v.status, version = version + 1, note = coalesce(v.note, dead_letters.note)
      FROM ${source} WHERE dead_letters.id = v.id RETURNING dead_letters.id`,
  );
  await changed(tx, taken, delta, to === 'open' ? 'restored' : 'discarded', context, () => ({}));
  return {
    done: taken.map(({ id }) => id),
    skipped: letters.filter(({ status }) => status !== from).map(({ id }) => ({ id, reason: refusal })),
  };
}

async function changed(
  tx: EntityManager,
  letters: readonly ChangeableLetter[],
  delta: number,
  event: string,
  { actor, now, note, action }: ChangeContext,
  details: (letter: ChangeableLetter) => Record<string, unknown>,
): Promise<void> {
  await tally(
    tx,
    letters.map(({ fingerprint, queue, worker }) => ({
      fingerprint,
      queue,
      worker,
      total: 0,
      open: delta,
      lastSeenAt: 0,
    })),
  );
  await appendHistory(
    tx,
    letters.map((letter) => ({
      letterId: letter.id,
      at: now,
      actor,
      event,
      details: { ...details(letter), ...(note && { note }), ...(action && { action }) },
    })),
  );
}

export interface EditedLetter {
  id: number;
  jobId: string;
  name: string;
  errorName: string;
  errorMessage: string;
  /** The payload as it was, without secrets, and as it shall be: as JSON text, and the same without secrets. */
  before: unknown;
  after: string;
  shown: string;
  stillMasked: string[];
}

/** Replaces the payload and keeps the one before in the history. The caller has checked version and contract. */
export async function replacePayload(
  tx: EntityManager,
  letter: EditedLetter,
  context: ChangeContext,
): Promise<void> {
  await tx.update(DeadLetterEntity, letter.id, {
    payload: JSON.parse(letter.after) as object,
    redactedPaths: letter.stillMasked,
    version: () => 'version + 1',
    ...(context.note && { note: context.note }),
  });
  await indexLetters(tx, [{ letterId: letter.id, text: searchTextOf({ ...letter, payload: letter.shown }) }]);
  await appendHistory(tx, [
    {
      letterId: letter.id,
      at: context.now,
      actor: context.actor,
      event: 'edited',
      details: { before: letter.before, ...(context.note && { note: context.note }) },
    },
  ]);
}
