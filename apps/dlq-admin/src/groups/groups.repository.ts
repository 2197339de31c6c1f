import { Injectable } from '@nestjs/common';
import { Database, queryRows, type EntityManager } from '#database';
import type { Group, Page } from '#dlq-client';
import { encodeCursor, type Cursor } from '../letters/cursor.js';
import { Where } from '../letters/where.js';

type GroupRow = Omit<Group, 'queues' | 'workers'>;

interface Tally {
  group: string;
  queue: string;
  worker: string;
  total: number;
  open: number;
}

const MAX_WORKERS = 20;

/** Causes of failures, largest first. Counts are read, never counted. */
@Injectable()
export class GroupsRepository {
  constructor(private readonly database: Database) {}

  async list(
    scope: readonly string[] | null,
    { after, limit, openOnly }: { after: Cursor | null; limit: number; openOnly: boolean },
  ): Promise<Page<Group>> {
    return this.database.read(async (manager) => {
      const where = new Where();
      if (openOnly) where.and('g.open > 0');
      if (after) where.and('(g.open, g.fingerprint) < (?, ?)', after.at, String(after.id));
      const rows = await queryRows<GroupRow>(
        manager,
        `SELECT ${columns} FROM ${source(scope, where)} AS g ${where.sql}
         ORDER BY g.open DESC, g.fingerprint DESC LIMIT ${where.param(limit + 1)}`,
        where.params,
      );
      const items = await withMembers(manager, rows.slice(0, limit), scope);
      const last = items.at(-1);
      return {
        items,
        next: rows.length > limit && last ? encodeCursor({ at: last.open, id: last.id }) : null,
      };
    });
  }

  async find(id: string, scope: readonly string[] | null): Promise<Group | undefined> {
    return this.database.read(async (manager) => {
      const where = new Where().and('g.fingerprint = ?', id);
      const rows = await queryRows<GroupRow>(
        manager,
        `SELECT ${columns} FROM ${source(scope, where)} AS g ${where.sql}`,
        where.params,
      );
      const [group] = await withMembers(manager, rows, scope);
      return group;
    });
  }
}

const columns = `g.fingerprint AS id, g.error_name AS "errorName", g.message, g.frame,
  g.first_seen_at AS "firstSeenAt", g.last_seen_at AS "lastSeenAt", g.total, g.open`;

/** All groups, or, for a key that sees some queues only, the groups as those queues make them. */
function source(scope: readonly string[] | null, where: Where): string {
  if (!scope) return 'dead_letter_groups';
  const queues = scope.map((queue) => where.param(queue)).join(', ') || 'NULL';
  return `(SELECT p.fingerprint, p.error_name, p.message, p.frame, p.first_seen_at,
      max(t.last_seen_at) AS last_seen_at, CAST(sum(t.total) AS bigint) AS total, CAST(sum(t.open) AS bigint) AS open
    FROM dead_letter_groups p JOIN dead_letter_tallies t ON t.fingerprint = p.fingerprint
    WHERE t.queue IN (${queues})
    GROUP BY p.fingerprint, p.error_name, p.message, p.frame, p.first_seen_at)`;
}

async function withMembers(
  manager: EntityManager,
  rows: readonly GroupRow[],
  scope: readonly string[] | null,
): Promise<Group[]> {
  const where = new Where().in(
    't.fingerprint',
    rows.map(({ id }) => id),
  );
  if (scope) where.in('t.queue', scope);
  const tallies = await queryRows<Tally>(
    manager,
    `SELECT t.fingerprint AS "group", t.queue, t.worker, t.total, t.open FROM dead_letter_tallies t ${where.sql}`,
    where.params,
  );
  return rows.map((row) => {
    const own = tallies.filter(({ group }) => group === row.id);
    return {
      ...row,
      queues: added(own, ({ queue }) => queue).map(({ key, total, open }) => ({ queue: key, total, open })),
      workers: added(own, ({ worker }) => worker)
        .slice(0, MAX_WORKERS)
        .map(({ key, total }) => ({ worker: key, total })),
    };
  });
}

function added(
  tallies: readonly Tally[],
  keyOf: (tally: Tally) => string,
): { key: string; total: number; open: number }[] {
  const sums = new Map<string, { key: string; total: number; open: number }>();
  for (const tally of tallies) {
    const key = keyOf(tally);
    const sum = sums.get(key) ?? { key, total: 0, open: 0 };
    sums.set(key, { key, total: sum.total + tally.total, open: sum.open + tally.open });
  }
  return [...sums.values()].filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
}
