import { Injectable } from '@nestjs/common';
import { bulkInsert, Database, execute, queryOne, queryRows, type EntityManager } from '#database';
import type { AlertView, DepthPoint, QueueStat } from '#dlq-client';
import { Where } from '../letters/where.js';
import type { AlertState, Readings } from './rules.js';

const RATE_WINDOW_MS = 60_000;

/** Depth over time, and what alerts know. */
@Injectable()
export class SamplesRepository {
  constructor(private readonly database: Database) {}

  /** Open letters and the oldest of them, by queue. */
  queues(scope: readonly string[] | null): Promise<QueueStat[]> {
    return this.database.read(async (manager) => {
      const where = new Where();
      if (scope) where.in('t.queue', scope);
      const rows = await queryRows<Omit<QueueStat, 'oldestAt'>>(
        manager,
        `SELECT t.queue, CAST(sum(t.open) AS bigint) AS open, CAST(sum(t.total) AS bigint) AS total
         FROM dead_letter_tallies t ${where.sql} GROUP BY t.queue ORDER BY 2 DESC, t.queue`,
        where.params,
      );
      const stats: QueueStat[] = [];
      for (const row of rows)
        stats.push({ ...row, oldestAt: row.open > 0 ? await oldest(manager, row.queue) : null });
      return stats;
    });
  }

  async byStatus(scope: readonly string[] | null): Promise<{ requeued: number; discarded: number }> {
    const count = async (manager: EntityManager, status: string): Promise<number> => {
      const where = new Where().and('status = ?', status);
      if (scope) where.in('queue', scope);
      const row = await queryOne<{ count: number }>(
        manager,
        `SELECT count(*) AS count FROM (SELECT 1 AS one FROM dead_letters ${where.sql} LIMIT 100001) AS found`,
        where.params,
      );
      return row.count;
    };
    return this.database.read(async (manager) => ({
      requeued: await count(manager, 'requeued'),
      discarded: await count(manager, 'discarded'),
    }));
  }

  /** What the rules look at, by queue. */
  async readings(now: number): Promise<Map<string, Readings>> {
    const queues = await this.queues(null);
    return this.database.read(async (manager) => {
      const arrived = await queryRows<{ queue: string; count: number }>(
        manager,
        'SELECT queue, count(*) AS count FROM dead_letters WHERE dead_lettered_at > $1 GROUP BY queue',
        [now - RATE_WINDOW_MS],
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
    return bulkInsert(tx, {
      table: 'depth_samples',
      columns: { queue: 'text', at: 'int', depth: 'int', arrivals: 'int', oldest_age_ms: 'int' },
      rows: [...readings].map(([queue, { depth, rate, age }]) => [queue, at, depth, rate, age * 1_000]),
      onConflict: '(queue, at) DO NOTHING',
    });
  }

  async prune(tx: EntityManager, before: number): Promise<void> {
    await execute(tx, 'DELETE FROM depth_samples WHERE at < $1', [before]);
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
    });
  }

  alerts(): Promise<AlertView[]> {
    return this.database.read((manager) =>
      queryRows<AlertView>(manager, 'SELECT rule, state, value, since FROM alert_states ORDER BY rule'),
    );
  }

  async alertState(tx: EntityManager, rule: string): Promise<AlertState> {
    const [row] = await queryRows<{ state: AlertState }>(
      tx,
      'SELECT state FROM alert_states WHERE rule = $1',
      [rule],
    );
    return row?.state ?? 'ok';
  }

  /** Moves a rule's state; false when another replica was first, and has told of it. */
  async moveAlert(
    tx: EntityManager,
    rule: string,
    from: AlertState,
    to: AlertState,
    value: number,
    now: number,
  ): Promise<boolean> {
    await execute(
      tx,
      `INSERT INTO alert_states (rule, state, value, since) VALUES ($1, 'ok', $2, $3) ON CONFLICT (rule) DO NOTHING`,
      [rule, value, now],
    );
    if (from === to) {
      await execute(tx, 'UPDATE alert_states SET value = $1 WHERE rule = $2 AND state = $3', [
        value,
        rule,
        from,
      ]);
      return false;
    }
    const moved = await execute(
      tx,
      'UPDATE alert_states SET state = $1, value = $2, since = $3, notified_at = $3 WHERE rule = $4 AND state = $5',
      [to, value, now, rule, from],
    );
    return moved === 1;
  }

  async forgetOtherRules(tx: EntityManager, rules: readonly string[]): Promise<void> {
    const where = new Where();
    if (rules.length > 0) where.and(`rule NOT IN (${rules.map(() => '?').join(', ')})`, ...rules);
    await execute(tx, `DELETE FROM alert_states ${where.sql}`, where.params);
  }
}

async function oldest(manager: EntityManager, queue: string): Promise<number | null> {
  const [row] = await queryRows<{ at: number }>(
    manager,
    `SELECT dead_lettered_at AS at FROM dead_letters WHERE queue = $1 AND status = 'open'
     ORDER BY dead_lettered_at, id LIMIT 1`,
    [queue],
  );
  return row?.at ?? null;
}
