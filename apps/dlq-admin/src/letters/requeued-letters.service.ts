import { Inject, Injectable } from '@nestjs/common';
import { FILE_JOB, filesOf } from '#contracts';
import { bulkQuery, Database, execute, queryRows, type EntityManager } from '#database';
import { append } from '#outbox';
import { QueueManager } from '#queue-manager';
import { CLOCK, LOGGER, Loop, Metrics, recordSpan, type Clock, type Logger } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { appendHistory } from '../ingest/letter-records.repository.js';
import { requeueEventId } from '../ingest/requeue-id.js';

const EVERY_MS = 2_000;
const PAGE = 500;
const FIRST = { replayedAt: 0, letterId: 0 };
const LOST_AFTER_MS = 60_000;
// To look for jobs in Redis costs more than to look at rows, and a loss is rare.
const WALKS_PER_SEARCH = 8;

/** A letter whose requeued job is published and has no known outcome. */
interface RequeuedLetter {
  letterId: number;
  queue: string;
  replay: number;
  replayedAt: number;
  jobId: string;
  trace: string | null;
  /** Of file jobs only: those of batches are large. */
  payload: string;
  /** The batch of its own job, when that has been delivered meanwhile. */
  batchId: string | null;
  deliveredAt: number | null;
}

/** One whose job has succeeded: when, and by which batch or job. */
type ResolvedLetter = RequeuedLetter & { at: number; by: string };

/** By letter, how the files of its job stand: whether one of them is failed still, and a batch that one is in. */
type Progress = ReadonlyMap<number, { waiting: boolean; batch: string | null }>;

/**
 * Follows requeued letters until their outcome is known. Resolved is a file's when its file is no longer failed, a batch's when it
 * was delivered, another's when its job is among the completed ones; only hints are missed, since who fails again reopens its letter.
 * A file's job that Redis has lost (flushed, failed over) is offered again under the same id, however long ago that was: such a file
 * would stay failed with nobody to tell why. Batches need none of that: the outbox confirms those by their inbox.
 */
@Injectable()
export class RequeuedLetters extends Loop {
  private readonly resolved;
  private readonly lost;
  private position = FIRST;
  private walks = 0;

  constructor(
    private readonly database: Database,
    private readonly queues: QueueManager,
    private readonly config: DlqAdminConfig,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'requeued letters', logger, idleMs: EVERY_MS });
    this.resolved = metrics.counter({
      name: 'millrace_dlq_letters_resolved_total',
      help: 'Requeued letters whose job has succeeded.',
    });
    this.lost = metrics.counter({
      name: 'millrace_dlq_redrives_lost_total',
      help: 'Requeued jobs that Redis lost and that were offered again.',
    });
  }

  override async tick(): Promise<boolean> {
    const more = await this.follow(this.walks % WALKS_PER_SEARCH === 0 ? LOST_AFTER_MS : Infinity);
    if (!more) this.walks++;
    return more;
  }

  /** A page of the walk, which begins anew when it has come to the end. Returns whether it has not. */
  async follow(lostAfterMs: number): Promise<boolean> {
    const { PATH_DISCOVERY_QUEUE } = this.config;
    const page = await this.page();
    const last = page.length === PAGE ? page.at(-1) : undefined;
    this.position = last ?? FIRST;
    const files = page.filter(({ queue }) => queue === PATH_DISCOVERY_QUEUE);
    const progress = await this.progressOf(files);
    await this.resolve(await this.succeeded(page, progress));
    const before = this.clock.now() - lostAfterMs;
    await this.offerLost(files.filter((one) => one.replayedAt < before && isWaiting(one, progress)));
    return last !== undefined;
  }

  /** In the order in which they were requeued. */
  private page(): Promise<RequeuedLetter[]> {
    const { replayedAt, letterId } = this.position;
    return this.database.rows<RequeuedLetter>(
      `SELECT d.id AS "letterId", d.replay_count AS replay, d.replayed_at AS "replayedAt", d.replay_job_id AS "jobId", d.queue, d.trace,
         CASE WHEN d.queue = $1 THEN d.payload ELSE '' END AS payload, b.id AS "batchId", b.completed_at AS "deliveredAt"
       FROM dead_letters d LEFT JOIN outbox o ON o.id = substr(d.replay_job_id, 3)
       LEFT JOIN batches b ON b.id = substr(d.job_id, 3) AND substr(d.job_id, 1, 2) = 'e-' AND b.completed_at IS NOT NULL
       WHERE d.status = 'requeued' AND d.resolved_at IS NULL AND (d.replayed_at, d.id) > ($2, $3)
         AND coalesce(o.status, 'PUBLISHED') = 'PUBLISHED'
       ORDER BY d.replayed_at, d.id LIMIT $4`,
      [this.config.PATH_DISCOVERY_QUEUE, replayedAt, letterId, PAGE],
    );
  }

  /** Nothing of a letter whose job names no file. */
  private async progressOf(letters: readonly RequeuedLetter[]): Promise<Progress> {
    const columns = { letter: 'int', file: 'int', revision: 'int' } as const;
    const found = await this.database.read((manager) =>
      bulkQuery<{ letter: number; waiting: number; batch: string | null }>(
        manager,
        { columns, alias: 'v', rows: letters.flatMap(namedFiles) },
        (source) => `SELECT v.letter, max(CASE WHEN f.status = 'failed' THEN 1 ELSE 0 END) AS waiting,
            min(i.batch_id) AS batch
          FROM ${source} LEFT JOIN files f ON f.id = v.file AND f.revision = v.revision
          LEFT JOIN batch_items i ON i.file_id = v.file AND i.revision = v.revision GROUP BY v.letter`,
      ),
    );
    return new Map(found.map(({ letter, waiting, batch }) => [letter, { waiting: waiting === 1, batch }]));
  }

  private async succeeded(page: readonly RequeuedLetter[], progress: Progress): Promise<ResolvedLetter[]> {
    const { PATH_DISCOVERY_QUEUE, ANALYSIS_QUEUE } = this.config;
    const others = page.filter(({ queue }) => queue !== PATH_DISCOVERY_QUEUE && queue !== ANALYSIS_QUEUE);
    const completed = await this.completed(others);
    const now = this.clock.now();
    return page.flatMap((letter) => {
      const { letterId, queue, jobId, batchId, deliveredAt } = letter;
      if (queue === ANALYSIS_QUEUE)
        return batchId && deliveredAt ? [{ ...letter, at: deliveredAt, by: batchId }] : [];
      if (queue === PATH_DISCOVERY_QUEUE ? isWaiting(letter, progress) : !completed.has(letter)) return [];
      return [{ ...letter, at: now, by: progress.get(letterId)?.batch ?? jobId }];
    });
  }

  /** Redis may be away, or the queue not ours to read: then nothing is known. */
  private async completed(letters: readonly RequeuedLetter[]): Promise<Set<RequeuedLetter>> {
    const queues = [...new Set(letters.map(({ queue }) => queue))];
    const found = queues.map(async (queue) => {
      const own = letters.filter((letter) => letter.queue === queue);
      const asked = this.queues.getQueue(queue).completed(own.map(({ jobId }) => jobId));
      const done = await asked.catch(() => new Set<string>());
      return own.filter(({ jobId }) => done.has(jobId));
    });
    return new Set((await Promise.all(found)).flat());
  }

  private async resolve(found: readonly ResolvedLetter[]): Promise<void> {
    if (found.length === 0) return;
    const resolved = await this.database.inTransaction((tx) => markResolved(tx, found));
    for (const { letterId, replay, replayedAt: startedAt, trace: parent } of resolved) {
      const attributes = { 'millrace.letter_id': letterId, 'millrace.replay': replay };
      recordSpan({ name: 'redrive', parent, startedAt, attributes });
    }
    this.resolved.inc(resolved.length);
    if (resolved.length > 0) this.logger.info({ letters: resolved.length }, 'requeued letters are resolved');
  }

  /** Those with no job, while the dead-letter queue holds nothing that could be their failure. */
  private async offerLost(waiting: readonly RequeuedLetter[]): Promise<void> {
    if (waiting.length === 0) return;
    const jobs = this.queues.getQueue(this.config.PATH_DISCOVERY_QUEUE);
    const existing = await jobs.existing(waiting.map(({ jobId }) => jobId));
    const gone = waiting.filter(({ jobId }) => !existing.has(jobId));
    if (gone.length === 0 || (await this.queues.deadLetters.count()) > 0) return;
    // Once more: a job that is gone may have ended since its file was looked at.
    const progress = await this.progressOf(gone);
    for (const letter of gone.filter((one) => isWaiting(one, progress)))
      if (await this.database.inTransaction((tx) => offerAgain(tx, letter, this.clock.now()))) {
        this.lost.inc();
        const facts = { letter: letter.letterId, job_id: letter.jobId };
        this.logger.warn(facts, 'Redis lost a requeued job; it is offered again');
      }
  }
}

const isWaiting = ({ letterId }: RequeuedLetter, progress: Progress): boolean =>
  progress.get(letterId)?.waiting ?? false;

/** Marks letters resolved, unless they have failed again or were marked meanwhile. Returns those that it marked. */
async function markResolved(tx: EntityManager, found: readonly ResolvedLetter[]): Promise<ResolvedLetter[]> {
  const columns = { id: 'int', replay: 'int', at: 'int', by: 'text' } as const;
  const rows = found.map(({ letterId, replay, at, by }) => [letterId, replay, at, by]);
  const marked = await bulkQuery<{ id: number }>(
    tx,
    { columns, alias: 'v', rows },
    (source) => `UPDATE dead_letters SET resolved_at = v.at, resolved_by = v.by, version = version + 1
      FROM ${source} WHERE dead_letters.id = v.id AND dead_letters.status || '' = 'requeued'
        AND dead_letters.replay_count = v.replay AND dead_letters.resolved_at IS NULL RETURNING dead_letters.id`,
  );
  const ids = new Set(marked.map(({ id }) => id));
  const resolved = found.filter(({ letterId }) => ids.has(letterId));
  const entries = resolved.map(({ letterId, at, replay, by }) => {
    return { letterId, at, actor: 'system', event: 'resolved', details: { replay, by } };
  });
  await appendHistory(tx, entries);
  return resolved;
}

/** Offers a lost job to the publishers again, under the same id. False when it has come to an end meanwhile. */
async function offerAgain(tx: EntityManager, letter: RequeuedLetter, now: number): Promise<boolean> {
  const { letterId, replay } = letter;
  const current = await execute(
    tx,
    `UPDATE dead_letters SET version = version + 1 WHERE id = $1 AND status = 'requeued' AND replay_count = $2`,
    [letterId, replay],
  );
  if (current === 0 || !(await offer(tx, letter))) return false;
  const entry = { letterId, at: now, actor: 'system', event: 'redriven again', details: { replay } };
  await appendHistory(tx, [entry]);
  return true;
}

async function offer(tx: EntityManager, letter: RequeuedLetter): Promise<boolean> {
  const { letterId, replay, queue, payload } = letter;
  const id = requeueEventId(letterId, replay);
  const offered = await execute(
    tx,
    "UPDATE outbox SET status = 'PENDING', attempts = 0, available_at = 0 WHERE id = $1 AND status = 'PUBLISHED'",
    [id],
  );
  if (offered === 1) return true;
  // Pending or dead is the publishers' or an operator's concern; only what was purged is written anew.
  if ((await queryRows(tx, 'SELECT id FROM outbox WHERE id = $1', [id])).length > 0) return false;
  await append(tx, { id, queue, eventName: 'dead-letter-requeued', payload: JSON.parse(payload) as object });
  return true;
}

/** The file revisions that the job is about. */
function namedFiles({ letterId, payload: text }: RequeuedLetter): number[][] {
  const payload: unknown = JSON.parse(text);
  if (FILE_JOB.faultsOf(payload).length > 0) return [];
  return filesOf(FILE_JOB.parse(payload)).map(({ fileId, revision }) => [letterId, fileId, revision]);
}
