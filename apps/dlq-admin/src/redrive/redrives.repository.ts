import { Injectable } from '@nestjs/common';
import { FILE_JOB } from '#contracts';
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
         FROM dead_letters WHERE status = 'requeued' AND queue = $1 AND (replayed_at, id) > ($2, $3) AND replayed_at < $4
         ORDER BY replayed_at, id LIMIT $5`,
        [queue, after.replayedAt, after.letterId, before, limit],
      ),
    );
  }

  /** Those whose file still waits: failed, at the revision that the job names, the letter still requeued. */
  async unsettled(redrives: readonly Redrive[]): Promise<Redrive[]> {
    const named = redrives.flatMap((redrive) => {
      const payload: unknown = JSON.parse(redrive.payload);
      if (FILE_JOB.faultsOf(payload).length > 0) return [];
      const { fileId, revision } = FILE_JOB.parse(payload);
      return [[redrive.letterId, redrive.replay, fileId, revision]];
    });
    const open = await this.database.read((manager) =>
      bulkQuery<{ id: number }>(
        manager,
        { columns: { letter: 'int', replay: 'int', file: 'int', revision: 'int' }, alias: 'v', rows: named },
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
