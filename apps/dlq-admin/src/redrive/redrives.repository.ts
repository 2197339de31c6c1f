import { Injectable } from '@nestjs/common';
import { FILE_JOB, filesOf } from '#contracts';
import { bulkQuery, Database, execute, queryRows, type EntityManager } from '#database';
import { append } from '#outbox';
import { appendHistory } from '../ingest/history.repository.js';
import { redriveEventId } from '../ingest/redrive-id.js';

/** A redriven file job whose outcome is not known yet. */
export interface Redrive {
  letterId: number;
  replay: number;
  replayedAt: number;
  jobId: string;
  payload: string;
}

export interface Position {
  replayedAt: number;
  letterId: number;
}

/** A requeued letter that is not known to be resolved. */
export interface Unresolved extends Redrive {
  queue: string;
  trace: string | null;
  /** The batch of its own job, when that has been delivered meanwhile. */
  batchId: string | null;
  deliveredAt: number | null;
}

/** A requeued letter whose job has succeeded: when, and by which batch or job. */
export interface Resolution {
  letterId: number;
  replay: number;
  at: number;
  by: string;
}

/** What the database knows of redriven file jobs. */
@Injectable()
export class RedrivesRepository {
  constructor(private readonly database: Database) {}

  /** A page of the walk through requeued letters of a queue, in the order in which they were requeued. */
  page(queue: string, after: Position, before: number, limit: number): Promise<Redrive[]> {
    return this.database.read((manager) =>
      queryRows<Redrive>(
        manager,
        `SELECT id AS "letterId", replay_count AS replay, replayed_at AS "replayedAt", replay_job_id AS "jobId", payload
         FROM dead_letters WHERE status = 'requeued' AND resolved_at IS NULL AND queue = $1 AND (replayed_at, id) > ($2, $3) AND replayed_at < $4
         ORDER BY replayed_at, id LIMIT $5`,
        [queue, after.replayedAt, after.letterId, before, limit],
      ),
    );
  }

  /** Published redrives, in the order in which they were requeued. Only the payloads of file jobs: those of batches are large. */
  unresolved(files: string, after: Position, limit: number): Promise<Unresolved[]> {
    return this.database.read((manager) =>
      queryRows<Unresolved>(
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

  /** The batch that each file revision is in, by the letter. */
  async batchesOf(redrives: readonly Redrive[]): Promise<Map<number, string>> {
    const rows = await this.database.read((manager) =>
      bulkQuery<{ letter: number; batch: string }>(
        manager,
        { columns: NAMED, alias: 'v', rows: namedFiles(redrives) },
        (source) => `SELECT v.letter, min(i.batch_id) AS batch FROM ${source}
          JOIN batch_items i ON i.file_id = v.file AND i.revision = v.revision GROUP BY v.letter`,
      ),
    );
    return new Map(rows.map(({ letter, batch }) => [letter, batch]));
  }

  /** Marks letters resolved, unless they have failed again or were marked meanwhile. Returns those that it marked. */
  resolve(resolutions: readonly Resolution[]): Promise<number[]> {
    return this.database.inTransaction(async (tx) => {
      const marked = await bulkQuery<{ id: number }>(
        tx,
        {
          columns: { id: 'int', replay: 'int', at: 'int', by: 'text' },
          alias: 'v',
          rows: resolutions.map(({ letterId, replay, at, by }) => [letterId, replay, at, by]),
        },
        (
          source,
        ) => `UPDATE dead_letters SET resolved_at = v.at, resolved_by = v.by, version = version + 1 FROM ${source}
          WHERE dead_letters.id = v.id AND dead_letters.status || '' = 'requeued' AND dead_letters.replay_count = v.replay
            AND dead_letters.resolved_at IS NULL RETURNING dead_letters.id`,
      );
      const ids = new Set(marked.map(({ id }) => id));
      await appendHistory(
        tx,
        resolutions
          .filter(({ letterId }) => ids.has(letterId))
          .map(({ letterId, replay, at, by }) => ({
            ...{ letterId, at, actor: 'system', event: 'resolved', details: { replay, by } },
          })),
      );
      return [...ids];
    });
  }

  /** Those whose file still waits: failed, at the revision that the job names, the letter still requeued. */
  async unsettled(redrives: readonly Redrive[]): Promise<Redrive[]> {
    const open = await this.database.read((manager) =>
      bulkQuery<{ id: number }>(
        manager,
        { columns: NAMED, alias: 'v', rows: namedFiles(redrives) },
        (
          source,
        ) => `SELECT d.id FROM ${source} JOIN dead_letters d ON d.id = v.letter JOIN files f ON f.id = v.file
          WHERE d.status = 'requeued' AND d.replay_count = v.replay AND f.revision = v.revision AND f.status = 'failed'`,
      ),
    );
    const ids = new Set(open.map(({ id }) => id));
    return redrives.filter(({ letterId }) => ids.has(letterId));
  }

  /** Offers a lost redrive to the publishers again, under the same id. False when it has come to an end meanwhile. */
  offerAgain(redrive: Redrive, queue: string, now: number): Promise<boolean> {
    return this.database.inTransaction(async (tx) => {
      const current = await execute(
        tx,
        `UPDATE dead_letters SET version = version + 1 WHERE id = $1 AND status = 'requeued' AND replay_count = $2`,
        [redrive.letterId, redrive.replay],
      );
      if (current === 0) return false;
      const offered = await this.offer(tx, redrive, queue);
      if (offered)
        await appendHistory(tx, [
          {
            letterId: redrive.letterId,
            at: now,
            actor: 'system',
            event: 'redriven again',
            details: { replay: redrive.replay },
          },
        ]);
      return offered;
    });
  }

  private async offer(
    tx: EntityManager,
    { letterId, replay, payload }: Redrive,
    queue: string,
  ): Promise<boolean> {
    const id = redriveEventId(letterId, replay);
    const revived = await execute(
      tx,
      "UPDATE outbox SET status = 'PENDING', attempts = 0, available_at = 0 WHERE id = $1 AND status = 'PUBLISHED'",
      [id],
    );
    if (revived === 1) return true;
    // Pending or dead is the publishers' or an operator's concern; only what was purged is written anew.
    if ((await queryRows(tx, 'SELECT id FROM outbox WHERE id = $1', [id])).length > 0) return false;
    await append(tx, {
      id,
      queue,
      eventName: 'dead-letter-requeued',
      payload: JSON.parse(payload) as object,
    });
    return true;
  }
}

const NAMED = { letter: 'int', replay: 'int', file: 'int', revision: 'int' } as const;

/** The file revisions that the jobs are about. */
function namedFiles(redrives: readonly Redrive[]): number[][] {
  return redrives.flatMap(({ letterId, replay, payload: text }) => {
    const payload: unknown = JSON.parse(text);
    if (FILE_JOB.faultsOf(payload).length > 0) return [];
    return filesOf(FILE_JOB.parse(payload)).map(({ fileId, revision }) => [
      letterId,
      replay,
      fileId,
      revision,
    ]);
  });
}
