import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import {
  bulkInsert,
  Database,
  DeadLetterHourEntity,
  DepthSampleEntity,
  queryOne,
  queryRows,
  rowsOf,
  type EntityManager,
  type ReadOptions,
} from '#database';
import type { DepthPoint, LetterStatus, QueueStat } from '#dlq-client';
import { hourOf } from '../ingest/tallies.repository.js';
import { STATE } from '../letters/criteria.js';
import { Where } from '../letters/where.js';
import type { Readings } from './rules.js';
import { MAY_LAG } from '../http/query.js';

const RATE_WINDOW_MS = 60_000;

/** Depth over time. */
@Injectable()
export class SamplesRepository {
  constructor(private readonly database: Database) {}

  /** Open letters and the oldest of them, by queue; those of some groups left out. */
  queues(
    scope: readonly string[] | null,
    options: ReadOptions = MAY_LAG,
    without: readonly string[] = [],
  ): Promise<QueueStat[]> {
    return this.database.read(async (manager) => {
      const where = new Where().notIn('t.fingerprint', without);
      if (scope) where.in('t.queue', scope);
      const rows = await queryRows<Omit<QueueStat, 'oldestAt'>>(
        manager,
        `SELECT t.queue, CAST(sum(t.open) AS bigint) AS open, CAST(sum(t.total) AS bigint) AS total
         FROM dead_letter_tallies t ${where.sql} GROUP BY t.queue ORDER BY 2 DESC, t.queue`,
        where.params,
      );
      const stats: QueueStat[] = [];
      for (const row of rows)
        stats.push({ ...row, oldestAt: row.open > 0 ? await oldest(manager, row.queue, without) : null });
      return stats;
    }, options);
  }

  /** Groups whose letters shall raise no alert now. */
  async muted(now: number): Promise<string[]> {
    const rows = await this.database.read((manager) =>
      queryRows<{ id: string }>(
        manager,
        'SELECT fingerprint AS id FROM dead_letter_groups WHERE muted_until > $1',
        [now],
      ),
    );
    return rows.map(({ id }) => id);
  }

  /** Letters that are not open, by state. */
  async byStatus(scope: readonly string[] | null): Promise<Omit<Record<LetterStatus, number>, 'open'>> {
    const where = new Where().and("d.status <> 'open'");
    if (scope) where.in('d.queue', scope);
    const rows = await this.database.read(
      (manager) =>
        queryRows<{ status: Exclude<LetterStatus, 'open'>; n: number }>(
          manager,
          `SELECT ${STATE} AS status, count(*) AS n FROM dead_letters d ${where.sql} GROUP BY 1`,
          where.params,
        ),
      MAY_LAG,
    );
    const counts = { requeued: 0, resolved: 0, discarded: 0 };
    for (const { status, n } of rows) counts[status] = n;
    return counts;
  }

  /** What the rules look at, by queue; some groups left out. */
  async readings(now: number, without: readonly string[] = []): Promise<Map<string, Readings>> {
    const queues = await this.queues(null, {}, without);
    return this.database.read(async (manager) => {
      const where = new Where()
        .and('dead_lettered_at > ?', now - RATE_WINDOW_MS)
        .notIn('fingerprint', without);
      const arrived = await queryRows<{ queue: string; count: number }>(
        manager,
        `SELECT queue, count(*) AS count FROM dead_letters ${where.sql} GROUP BY queue`,
        where.params,
      );
      const rates = new Map(arrived.map(({ queue, count }) => [queue, count]));
      return new Map(
        queues.map(({ queue, open, oldestAt }) => [
          queue,
          {
            depth: open,
            rate: rates.get(queue) ?? 0,
            age: oldestAt === null ? 0 : Math.max(0, Math.round((now - oldestAt) / 1_000)),
          },
        ]),
      );
    });
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
  depth(scope: readonly string[] | null, since: number, now: number, points: number): Promise<DepthPoint[]> {
    return this.database.read(async (manager) => {
      const { first } = await queryOne<{ first: number | null }>(
        manager,
        'SELECT min(at) AS first FROM depth_samples WHERE at >= $1',
        [since],
      );
      const step = Math.max(1, Math.ceil((now - (first ?? since)) / points));
      const where = new Where().and('at >= ?', since);
      if (scope) where.in('queue', scope);
      const bucket = `at / ${where.param(step)}`;
      // Of each queue the largest depth in a step, then all queues together.
      return queryRows<DepthPoint>(
        manager,
        `SELECT min(at) AS at, CAST(sum(depth) AS bigint) AS depth, CAST(sum(arrivals) AS bigint) AS arrivals FROM (
           SELECT queue, ${bucket} AS step, min(at) AS at, max(depth) AS depth, max(arrivals) AS arrivals
           FROM depth_samples ${where.sql} GROUP BY queue, ${bucket}
         ) AS steps GROUP BY step ORDER BY 1`,
        where.params,
      );
    }, MAY_LAG);
  }
}

async function oldest(
  manager: EntityManager,
  queue: string,
  without: readonly string[],
): Promise<number | null> {
  const where = new Where().and("queue = ? AND status = 'open'", queue).notIn('fingerprint', without);
  const [row] = await queryRows<{ at: number }>(
    manager,
    `SELECT dead_lettered_at AS at FROM dead_letters ${where.sql} ORDER BY dead_lettered_at, id LIMIT 1`,
    where.params,
  );
  return row?.at ?? null;
}
