import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { bulkInsert, Database, DeadLetterHourEntity, DepthSampleEntity, rowsOf } from '#database';
import type { EntityManager, ReadOptions } from '#database';
import type { DepthPoint, LetterStatus, QueueStat } from '#dlq-client';
import { MAY_LAG } from '../http/query.js';
import { hourOf } from '../ingest/letter-groups.repository.js';
import { STATE } from '../letters/criteria.js';
import { Where } from '../letters/where.js';
import type { Readings } from './rules.js';

type Scope = readonly string[] | null;

const RATE_WINDOW_MS = 60_000;

/** Depth over time. */
@Injectable()
export class SamplesRepository {
  constructor(private readonly database: Database) {}

  /** Open letters and the oldest of them, by queue; those of some groups left out. */
  queues(scope: Scope, options: ReadOptions = MAY_LAG, without: string[] = []): Promise<QueueStat[]> {
    const where = new Where().notIn('t.fingerprint', without).in('t.queue', scope);
    const open = new Where(where.params)
      .and("d.queue = t.queue AND d.status = 'open'")
      .notIn('d.fingerprint', without);
    return this.database.rows<QueueStat>(
      `SELECT t.queue, CAST(sum(t.open) AS bigint) AS open, CAST(sum(t.total) AS bigint) AS total,
         (SELECT d.dead_lettered_at FROM dead_letters d ${open.sql}
          ORDER BY d.dead_lettered_at, d.id LIMIT 1) AS "oldestAt"
       FROM dead_letter_tallies t ${where.sql} GROUP BY t.queue ORDER BY 2 DESC, t.queue`,
      where.params,
      options,
    );
  }

  /** Groups whose letters shall raise no alert now. */
  async muted(now: number): Promise<string[]> {
    const sql = 'SELECT fingerprint AS id FROM dead_letter_groups WHERE muted_until > $1';
    return (await this.database.rows<{ id: string }>(sql, [now])).map(({ id }) => id);
  }

  /** Letters that are not open, by state. */
  async byStatus(scope: Scope): Promise<Omit<Record<LetterStatus, number>, 'open'>> {
    const where = new Where().and("d.status <> 'open'").in('d.queue', scope);
    const rows = await this.database.rows<{ status: Exclude<LetterStatus, 'open'>; n: number }>(
      `SELECT ${STATE} AS status, count(*) AS n FROM dead_letters d ${where.sql} GROUP BY 1`,
      where.params,
      MAY_LAG,
    );
    const counts = { requeued: 0, resolved: 0, discarded: 0 };
    for (const { status, n } of rows) counts[status] = n;
    return counts;
  }

  /** What the rules look at, by queue; some groups left out. */
  async readings(now: number, without: string[] = []): Promise<Map<string, Readings>> {
    const where = new Where().and('dead_lettered_at > ?', now - RATE_WINDOW_MS).notIn('fingerprint', without);
    const arrived = await this.database.rows<{ queue: string; count: number }>(
      `SELECT queue, count(*) AS count FROM dead_letters ${where.sql} GROUP BY queue`,
      where.params,
    );
    const rates = new Map(arrived.map(({ queue, count }) => [queue, count]));
    const queues = await this.queues(null, {}, without);
    const readings = queues.map(({ queue, open: depth, oldestAt }): [string, Readings] => {
      const age = Math.max(0, Math.round((now - (oldestAt ?? now)) / 1_000));
      return [queue, { depth, rate: rates.get(queue) ?? 0, age }];
    });
    return new Map(readings);
  }

  /** Stores a sample a queue; replicas that sample the same moment store one. */
  async record(tx: EntityManager, at: number, readings: ReadonlyMap<string, Readings>): Promise<number> {
    const samples = [...readings].map(([queue, { depth, rate, age }]) => ({
      ...{ queue, at, depth, arrivals: rate, oldestAgeMs: age * 1_000 },
    }));
    return bulkInsert(tx, {
      ...rowsOf(DepthSampleEntity, ['queue', 'at', 'depth', 'arrivals', 'oldestAgeMs'], samples),
      onConflict: '(queue, at) DO NOTHING',
    });
  }

  async prune(tx: EntityManager, before: number, now: number): Promise<void> {
    await tx.delete(DepthSampleEntity, { at: LessThan(before) });
    await tx.delete(DeadLetterHourEntity, { hour: LessThan(hourOf(now) - 24) });
  }

  /** Depth over time, all queues together, as `points` steps at most, from the first sample after `since`. */
  async depth(scope: Scope, since: number, now: number, points: number): Promise<DepthPoint[]> {
    const where = new Where().and('at >= ?', since);
    const sql = `SELECT min(at) AS first FROM depth_samples ${where.sql}`;
    const [row] = await this.database.rows<{ first: number | null }>(sql, where.params, MAY_LAG);
    const step = Math.max(1, Math.ceil((now - (row?.first ?? since)) / points));
    const bucket = `at / ${where.in('queue', scope).param(step)}`;
    // Of each queue the largest depth in a step, then all queues together.
    return this.database.rows<DepthPoint>(
      `SELECT min(at) AS at, CAST(sum(depth) AS bigint) AS depth, CAST(sum(arrivals) AS bigint) AS arrivals FROM (
         SELECT queue, ${bucket} AS step, min(at) AS at, max(depth) AS depth, max(arrivals) AS arrivals
         FROM depth_samples ${where.sql} GROUP BY queue, ${bucket}
       ) AS steps GROUP BY step ORDER BY 1`,
      where.params,
      MAY_LAG,
    );
  }
}
