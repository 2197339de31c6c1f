import { Injectable } from '@nestjs/common';
import { BATCH_EVENT, FILE_JOB, type Contract } from '#contracts';
import { bulkExecute, bulkQuery, columnsOf, DeadLetterEntity, dialectOf, storableText } from '#database';
import type { EntityManager } from '#database';
import type { BulkKind } from '#dlq-client';
import { appendAll } from '#outbox';
import { faultPoint } from '#service';
import type { Caller } from '../access/caller.js';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { appendHistory, indexLetters } from '../ingest/letter-records.repository.js';
import { searchTextOf, storedJson } from '../ingest/letter-draft.js';
import { maskSecrets, stillMasked } from '../ingest/mask.js';
import { requeueEventId, requeueJobId } from '../ingest/requeue-id.js';
import { tally } from '../ingest/letter-groups.repository.js';

export const REFUSALS = {
  'not-open': 'the letter is not open; only an open letter can be requeued or discarded',
  'not-discarded': 'the letter is not discarded; only a discarded letter can be restored',
  'replay-limit':
    'the letter was requeued MAX_REPLAYS times and failed each time; edit its payload, or raise the limit',
  'redacted-payload': 'parts of the payload were masked as secrets; edit the payload and give them anew',
  'invalid-payload': 'the payload breaks the contract of its queue and would fail again; edit it first',
  gone: 'there is no such letter',
} as const;
type Refusal = keyof typeof REFUSALS;

/** How a letter stands, as far as that decides what can be done with it. */
export interface Standing {
  status: string;
  /** How often it was requeued with this payload. */
  replays: number;
  redacted: boolean;
}

/** Why a letter cannot be changed so now; null when it can, unless its payload speaks against it. */
export function refusalOf(kind: BulkKind, standing: Standing, maxReplays: number): Refusal | null {
  const { status, replays, redacted } = standing;
  if (kind === 'restore') return status === 'discarded' ? null : 'not-discarded';
  if (status !== 'open') return 'not-open';
  if (kind === 'discard') return null;
  if (replays >= maxReplays) return 'replay-limit';
  return redacted ? 'redacted-payload' : null;
}

/** Who changes letters, when and why. */
export interface ChangedBy {
  actor: string;
  now: number;
  note?: string;
  /** The bulk action it belongs to, for the history. */
  action?: string;
}

/** A letter as it is locked for a change; JSON is still text. */
export interface LockedLetter extends Pick<
  DeadLetterEntity,
  'id' | 'queue' | 'status' | 'trace' | 'replayCount' | 'fingerprint'
> {
  payload: string;
  redactedPaths: string;
  options: string;
  worker: string;
  /** Its last edit in the history; 0 without one. */
  edited: number;
  /** Requeues before that: an edited payload is another payload, and gets its own chances. */
  replaysForgiven: number;
}

const EDITED =
  "coalesce((SELECT max(e.id) FROM dead_letter_history e WHERE e.letter_id = d.id AND e.event = 'edited'), 0)";
const LOCKED = `${columnsOf<DeadLetterEntity>(
  ['id', 'queue', 'status', 'payload', 'redactedPaths', 'options', 'trace', 'replayCount', 'fingerprint'],
  'd',
)}, d.last_worker_id AS worker, ${EDITED} AS edited, (SELECT count(*) FROM dead_letter_history h
    WHERE h.letter_id = d.id AND h.event = 'requeued' AND h.id < ${EDITED}) AS "replaysForgiven"`;

const EVENTS = { requeue: 'requeued', discard: 'discarded', restore: 'restored' } as const;

/**
 * Changes letters in the caller's transaction: letter, counts, history and, when it is requeued, its job in the outbox, or
 * none of it. One requeue of a letter at a time: only an open letter is taken, and it is open again only when that has failed.
 */
@Injectable()
export class LetterChanges {
  constructor(private readonly config: DlqAdminConfig) {}

  /** What is wrong with a payload by the contract of its queue, if that has one. */
  faultsOf(queue: string, payload: unknown): ReturnType<Contract<unknown>['faultsOf']> {
    const { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE } = this.config;
    if (queue === PATH_DISCOVERY_QUEUE) return FILE_JOB.faultsOf(payload);
    return queue === ANALYSIS_QUEUE ? BATCH_EVENT.faultsOf(payload) : [];
  }

  /** An edited payload may hold the secrets that its job needs; people are shown it without. */
  masked(payload: unknown): unknown {
    return maskSecrets(structuredClone(payload), this.config.REDACT_PATHS).value;
  }

  /** Reads letters and, on PostgreSQL, locks them until the end of the transaction, in one order. */
  async lock(tx: EntityManager, ids: readonly number[], scope: Caller['queues']): Promise<LockedLetter[]> {
    const lock = dialectOf(tx) === 'postgres' ? ' FOR UPDATE OF d' : '';
    const rows = await bulkQuery<LockedLetter>(
      tx,
      { columns: { id: 'int' }, alias: 'v', rows: ids.map((id) => [id]) },
      (source) => `SELECT ${LOCKED} FROM dead_letters d JOIN ${source} ON v.id = d.id ORDER BY d.id${lock}`,
    );
    return rows.filter(({ queue }) => !scope || scope.includes(queue));
  }

  /** Why a letter cannot be changed so now; null when it can. */
  refusalOf(kind: BulkKind, letter: LockedLetter): Refusal | null {
    const { status, replayCount, replaysForgiven, redactedPaths, queue, payload } = letter;
    const standing = { status, replays: replayCount - replaysForgiven, redacted: redactedPaths !== '[]' };
    const refusal = refusalOf(kind, standing, this.config.MAX_REPLAYS);
    if (refusal || kind !== 'requeue') return refusal;
    // The outbox takes objects only, whatever the queue.
    const isRunnable = payload.startsWith('{') && this.faultsOf(queue, JSON.parse(payload)).length === 0;
    return isRunnable ? null : 'invalid-payload';
  }

  /** Returns, by letter, why it was not changed; null when it was. */
  async apply(
    tx: EntityManager,
    kind: BulkKind,
    letters: readonly LockedLetter[],
    by: ChangedBy,
  ): Promise<ReadonlyMap<number, Refusal | null>> {
    const outcomes = new Map(letters.map((letter) => [letter.id, this.refusalOf(kind, letter)]));
    const taken = letters.filter(({ id }) => outcomes.get(id) === null);
    if (kind === 'requeue') await this.requeue(tx, taken, by);
    else await setStatus(tx, taken, kind === 'discard' ? 'discarded' : 'open', by);
    const counted = { total: 0, open: kind === 'restore' ? 1 : -1, lastSeenAt: 0 };
    const changes = taken.map(({ fingerprint, queue, worker }) => {
      return { fingerprint, queue, worker, ...counted };
    });
    await tally(tx, changes);
    await recordChange(tx, kind, taken, by);
    return outcomes;
  }

  /** Replaces the payload and keeps the one before in the history. The caller has checked version and contract. */
  async replacePayload(
    tx: EntityManager,
    letter: DeadLetterEntity,
    payload: object,
    { actor, now, note }: ChangedBy,
  ): Promise<void> {
    const { id } = letter;
    await tx.update(DeadLetterEntity, id, {
      payload: storable(payload),
      redactedPaths: stillMasked(payload),
      version: () => 'version + 1',
      ...(note && { note }),
    });
    const text = searchTextOf({ ...letter, payload: storedJson(this.masked(payload)) });
    await indexLetters(tx, [{ letterId: id, text }]);
    const details = { before: this.masked(letter.payload), ...(note && { note }) };
    await appendHistory(tx, [{ letterId: id, at: now, actor, event: 'edited', details }]);
  }

  private async requeue(tx: EntityManager, letters: LockedLetter[], { now }: ChangedBy): Promise<void> {
    const columns = { id: 'int', at: 'int', job: 'text' } as const;
    const rows = letters.map(({ id, replayCount }) => [id, now, requeueJobId(id, replayCount + 1)]);
    // `status || ''` keeps SQLite from walking all open letters by their index instead of looking up these by id.
    await bulkExecute(
      tx,
      { columns, rows, alias: 'v' },
      (source) => `UPDATE dead_letters SET status = 'requeued', version = version + 1,
          replay_count = replay_count + 1, replayed_at = v.at, replay_job_id = v.job
        FROM ${source} WHERE dead_letters.id = v.id AND dead_letters.status || '' = 'open'`,
    );
    await faultPoint('dlq-admin.requeue-after-mark');
    await appendAll(tx, letters.map(requeueEvent));
    await this.forgetSecrets(tx, letters);
  }

  /** Secrets that an edit has given for the requeue are in its job now, and no longer needed here. */
  private async forgetSecrets(tx: EntityManager, letters: LockedLetter[]): Promise<void> {
    for (const { id, payload } of letters.filter(({ edited }) => edited > 0)) {
      const { value, paths } = maskSecrets(JSON.parse(payload), this.config.REDACT_PATHS);
      const masked = { payload: storable(value), redactedPaths: paths.map(storableText) };
      if (paths.length > 0) await tx.update(DeadLetterEntity, id, masked);
    }
  }
}

const storable = (payload: unknown): object => JSON.parse(storedJson(payload)) as object;

function requeueEvent(letter: LockedLetter): Parameters<typeof appendAll>[1][number] {
  const { attempts } = JSON.parse(letter.options) as { attempts?: unknown };
  const limited = typeof attempts === 'number' && attempts >= 1;
  return {
    ...{ id: requeueEventId(letter.id, letter.replayCount + 1), eventName: 'dead-letter-requeued' },
    ...{ queue: letter.queue, payload: JSON.parse(letter.payload) as object },
    ...(limited && { jobOptions: { attempts: Math.min(attempts, 100) } }),
    ...(letter.trace && { trace: letter.trace }),
  };
}

async function setStatus(
  tx: EntityManager,
  letters: LockedLetter[],
  status: 'open' | 'discarded',
  { note }: ChangedBy,
): Promise<void> {
  const ids = letters.map(({ id }) => id);
  const change = { status, version: () => 'version + 1', ...(note && { note }) };
  if (ids.length > 0) await tx.update(DeadLetterEntity, ids, change);
}

async function recordChange(
  tx: EntityManager,
  kind: BulkKind,
  letters: readonly LockedLetter[],
  { actor, now: at, note, action }: ChangedBy,
): Promise<void> {
  const told = { ...(note && { note }), ...(action && { action }) };
  const entries = letters.map(({ id: letterId, replayCount }) => {
    const replay = replayCount + 1;
    const requeued = kind === 'requeue' && { replay, jobId: requeueJobId(letterId, replay) };
    return { letterId, at, actor, event: EVENTS[kind], details: { ...requeued, ...told } };
  });
  await appendHistory(tx, entries);
}
