import { Injectable } from '@nestjs/common';
import { FILE_JOB, filesOf } from '#contracts';
import { bulkQuery, Database, execute, queryRows, type EntityManager } from '#database';
import { append } from '#outbox';
import { appendHistory } from '../ingest/history.repository.js';
import { requeueEventId } from '../ingest/requeue-id.js';

/** A letter whose requeued job is published and has no known outcome. */
export interface RequeuedLetter {
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

export type Position = Pick<RequeuedLetter, 'replayedAt' | 'letterId'>;

/** That a requeued job has succeeded: when, and by which batch or job. */
export interface Resolution {
  letterId: number;
  replay: number;
  at: number;
  by: string;
}

/** How the files of a letter's job stand: whether one of them is failed still, and a batch that one is in. */
export interface FileProgress {
  waiting: boolean;
  batch: string | null;
}

/** What the database knows of requeued letters. */
@Injectable()
export class RequeuedLettersRepository {
  constructor(private readonly database: Database) {}

  /** A page of the walk, in the order in which they were requeued. */
  page(files: string, after: Position, limit: number): Promise<RequeuedLetter[]> {
    return this.database.read((manager) =>
      queryRows<RequeuedLetter>(
        manager,
        `SELECT d.id AS "letterId", d.replay_count AS replay, d.replayed_at AS "replayedAt", d.replay_job_id AS "jobId", d.queue, d.trace,
           CASE WHEN d.queue = $1 THEN d.payload ELSE '' END AS payload, b.id AS "batchId", b.completed_at AS "deliveredAt"
         FROM dead_letters d LEFT JOIN outbox o ON o.id = substr(d.replay_job_id, 3)
         LEFT JOIN batches b ON b.id = substr(d.job_id, 3) AND substr(d.job_id, 1, 2) = 'e-' AND b.completed_at IS NOT NULL
         WHERE d.status = 'requeued' AND d.resolved_at IS NULL AND (d.replayed_at, d.id) > ($2, $3)
           AND coalesce(o.status, 'PUBLISHED') = 'PUBLISHED'
         ORDER BY d.replayed_at, d.id LIMIT $4`,
        [files, after.replayedAt, after.letterId, limit],
      ),
    );
  }

  /** By letter; nothing of a letter whose job names no file. */
  async filesOf(letters: readonly RequeuedLetter[]): Promise<Map<number, FileProgress>> {
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

  /** Marks letters resolved, unless they have failed again or were marked meanwhile. Returns those that it marked. */
  resolve(resolutions: readonly Resolution[]): Promise<Set<number>> {
    return this.database.inTransaction(async (tx) => {
      const columns = { id: 'int', replay: 'int', at: 'int', by: 'text' } as const;
      const rows = resolutions.map(({ letterId, replay, at, by }) => [letterId, replay, at, by]);
      const marked = await bulkQuery<{ id: number }>(
        tx,
        { columns, alias: 'v', rows },
        (source) => `UPDATE dead_letters SET resolved_at = v.at, resolved_by = v.by, version = version + 1
          FROM ${source} WHERE dead_letters.id = v.id AND dead_letters.status || '' = 'requeued'
            AND dead_letters.replay_count = v.replay AND dead_letters.resolved_at IS NULL RETURNING dead_letters.id`,
      );
      const ids = new Set(marked.map(({ id }) => id));
      const resolved = resolutions.filter(({ letterId }) => ids.has(letterId));
      const entries = resolved.map(({ letterId, at, ...details }) => {
        return { letterId, at, actor: 'system', event: 'resolved', details };
      });
      await appendHistory(tx, entries);
      return ids;
    });
  }

  /** Offers a lost job to the publishers again, under the same id. False when it has come to an end meanwhile. */
  offerAgain(letter: RequeuedLetter, now: number): Promise<boolean> {
    const { letterId, replay } = letter;
    return this.database.inTransaction(async (tx) => {
      const current = await execute(
        tx,
        `UPDATE dead_letters SET version = version + 1 WHERE id = $1 AND status = 'requeued' AND replay_count = $2`,
        [letterId, replay],
      );
      if (current === 0 || !(await offer(tx, letter))) return false;
      const entry = { letterId, at: now, actor: 'system', event: 'redriven again', details: { replay } };
      await appendHistory(tx, [entry]);
      return true;
    });
  }
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
