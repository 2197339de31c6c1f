import { Inject, Injectable } from '@nestjs/common';
import { Database, queryRows, type EntityManager } from '#database';
import type { Group, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { pageOf, type Cursor } from '../letters/cursor.js';
import { Where } from '../letters/where.js';
import { MAY_LAG } from '../http/query.js';
import { hourOf } from '../ingest/tallies.repository.js';

type GroupRow = Omit<Group, 'queues' | 'workers' | 'recent'>;

interface Tally {
  group: string;
  queue: string;
  worker: string;
  total: number;
  open: number;
}

const MAX_WORKERS = 20;
const HOURS = 24;

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
      // One whose letters went to others has none.
      where.and(openOnly ? 'g.open > 0' : 'g.total > 0');
      if (after) where.and('(g.open, g.fingerprint) < (?, ?)', after.at, String(after.id));
      const rows = await queryRows<GroupRow>(
        manager,
        `SELECT ${columns} FROM ${source(scope, where)} AS g ${where.sql}
         ORDER BY g.open DESC, g.fingerprint DESC LIMIT ${where.param(limit + 1)}`,
        where.params,
      );
      const { items, next } = pageOf(rows, limit, ({ open, id }) => ({ at: open, id }));
      return { items: await this.whole(manager, items, scope), next };
    }, MAY_LAG);
  }

  find(id: string, scope: readonly string[] | null, tx?: EntityManager): Promise<Group | undefined> {
    const read = async (manager: EntityManager): Promise<Group | undefined> => {
      const where = new Where().and('g.fingerprint = ?', id);
      const rows = await queryRows<GroupRow>(
        manager,
        `SELECT ${columns} FROM ${source(scope, where)} AS g ${where.sql}`,
        where.params,
      );
      const [group] = await this.whole(manager, rows, scope);
      return group;
    };
    return tx ? read(tx) : this.database.read(read);
  }

  private async whole(
    manager: EntityManager,
    rows: readonly GroupRow[],
    scope: readonly string[] | null,
  ): Promise<Group[]> {
    const ids = rows.map(({ id }) => id);
    const recent = await arrivals(manager, ids, scope, this.clock.now());
    const groups = await withMembers(manager, rows, scope);
    return groups.map((group) => ({ ...group, recent: recent(group.id) }));
  }
}

/** How many letters of each group came in which of the last hours. */
async function arrivals(
  manager: EntityManager,
  groups: readonly string[],
  scope: readonly string[] | null,
  now: number,
): Promise<(group: string) => number[]> {
  const first = hourOf(now) - HOURS + 1;
  const where = new Where().in('h.fingerprint', groups).and('h.hour >= ?', first);
  if (scope) where.in('h.queue', scope);
  const found = await queryRows<{ group: string; hour: number; n: number }>(
    manager,
    `SELECT h.fingerprint AS "group", h.hour, CAST(sum(h.arrived) AS bigint) AS n FROM dead_letter_hours h ${where.sql} GROUP BY 1, 2`,
    where.params,
  );
  return (group) => {
    const hours = Array<number>(HOURS).fill(0);
    // A worker's clock may be ahead of this one's.
    for (const { hour, n } of found.filter((one) => one.group === group))
      hours[Math.min(hour - first, HOURS - 1)]! += n;
    return hours;
  };
}

const columns = `g.fingerprint AS id, g.error_name AS "errorName", g.message, g.newest, g.frame, g.note, g.owner,
  g.muted_until AS "mutedUntil", g.merged_into AS "mergedInto", g.split_by AS "splitBy",
  g.first_seen_at AS "firstSeenAt", g.last_seen_at AS "lastSeenAt", g.total, g.open`;

/** All groups, or, for a key that sees some queues only, the groups as those queues make them. */
function source(scope: readonly string[] | null, where: Where): string {
  if (!scope) return 'dead_letter_groups';
  const queues = scope.map((queue) => where.param(queue)).join(', ') || 'NULL';
  return `(SELECT p.fingerprint, p.error_name, p.message, CAST(NULL AS text) AS newest, p.frame, p.note, p.owner,
      p.muted_until, p.merged_into, p.split_by, p.first_seen_at, t.last_seen_at, t.total, t.open
    FROM dead_letter_groups p JOIN (
      SELECT fingerprint, max(last_seen_at) AS last_seen_at, CAST(sum(total) AS bigint) AS total,
        CAST(sum(open) AS bigint) AS open
      FROM dead_letter_tallies WHERE queue IN (${queues}) GROUP BY fingerprint
    ) AS t ON t.fingerprint = p.fingerprint)`;
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
