import { Inject, Injectable } from '@nestjs/common';
import { Database, queryRows, type EntityManager } from '#database';
import type { Group, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { encodeCursor, type Cursor } from '../letters/cursor.js';
import { Where } from '../letters/where.js';
import { MAY_LAG } from '../http/query.js';

type GroupRow = Omit<Group, 'queues' | 'workers' | 'recent'>;

interface Tally {
  group: string;
  queue: string;
  worker: string;
  total: number;
  open: number;
}

const MAX_WORKERS = 20;
const HOUR_MS = 3_600_000;
const HOURS = 24;
const NEWEST = 100;

/** Causes of failures, largest first. Counts are read, never counted. */
@Injectable()
export class GroupsRepository {
  constructor(
    private readonly database: Database,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

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
      const items = await this.whole(manager, rows.slice(0, limit), scope);
      const last = items.at(-1);
      return {
        items,
        next: rows.length > limit && last ? encodeCursor({ at: last.open, id: last.id }) : null,
      };
    }, MAY_LAG);
  }

  async find(id: string, scope: readonly string[] | null): Promise<Group | undefined> {
    return this.database.read(async (manager) => {
      const where = new Where().and('g.fingerprint = ?', id);
      const rows = await queryRows<GroupRow>(
        manager,
        `SELECT ${columns} FROM ${source(scope, where)} AS g ${where.sql}`,
        where.params,
      );
      const [group] = await this.whole(manager, rows, scope);
      return group;
    });
  }

  private async whole(
    manager: EntityManager,
    rows: readonly GroupRow[],
    scope: readonly string[] | null,
  ): Promise<Group[]> {
    const ids = rows.map(({ id }) => id);
    const recent = await arrivals(manager, ids, scope, this.clock.now() - HOURS * HOUR_MS);
    const groups = await withMembers(manager, rows, scope);
    return groups.map((group) => ({ ...group, recent: recent(group.id) }));
  }
}

/** How many of each group's newest letters came in which hour since a time: as far as the index is read, whatever its size. */
async function arrivals(
  manager: EntityManager,
  groups: readonly string[],
  scope: readonly string[] | null,
  since: number,
): Promise<(group: string) => number[]> {
  if (groups.length === 0) return () => [];
  const params: unknown[] = [];
  const newest = groups.map((group, index) => {
    const where = new Where(params).and('d.fingerprint = ?', group).and('d.dead_lettered_at > ?', since);
    if (scope) where.in('d.queue', scope);
    return `SELECT * FROM (SELECT d.fingerprint, d.dead_lettered_at FROM dead_letters d ${where.sql}
      ORDER BY d.dead_lettered_at DESC LIMIT ${NEWEST}) AS n${index}`;
  });
  const found = await queryRows<{ group: string; hour: number; n: number }>(
    manager,
    `SELECT fingerprint AS "group", (dead_lettered_at - ${since}) / ${HOUR_MS} AS hour, count(*) AS n
     FROM (${newest.join(' UNION ALL ')}) AS newest GROUP BY 1, 2`,
    params,
  );
  return (group) => {
    const hours = Array<number>(HOURS).fill(0);
    // A worker's clock may be ahead of this one's.
    for (const { hour, n } of found.filter((one) => one.group === group))
      hours[Math.min(hour, HOURS - 1)]! += n;
    return hours;
  };
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
): Promise<Omit<Group, 'recent'>[]> {
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
