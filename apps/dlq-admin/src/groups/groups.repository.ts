import { Inject, Injectable } from '@nestjs/common';
import { columnsOf, Database, queryRows, type DeadLetterGroupEntity, type EntityManager } from '#database';
import type { Group, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { MAY_LAG } from '../http/query.js';
import { hourOf } from '../ingest/letter-groups.repository.js';
import { pageOf, type Cursor } from '../http/field.js';
import { Where } from '../letters/where.js';

type GroupRow = Omit<Group, 'queues' | 'workers' | 'recent'>;
type Scope = readonly string[] | null;

const COLUMNS = `g.fingerprint AS id, ${columnsOf<DeadLetterGroupEntity>(
  [
    ...(['errorName', 'message', 'newest', 'frame', 'note', 'owner', 'mutedUntil', 'mergedInto'] as const),
    ...(['splitBy', 'firstSeenAt', 'lastSeenAt', 'total', 'open'] as const),
  ],
  'g',
)}`;
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
    scope: Scope,
    { after, limit, openOnly }: { after: Cursor | null; limit: number; openOnly: boolean },
  ): Promise<Page<Group>> {
    return this.database.read(async (manager) => {
      // One whose letters went to others has none.
      const where = new Where().and(openOnly ? 'g.open > 0' : 'g.total > 0');
      if (after) where.and('(g.open, g.fingerprint) < (?, ?)', after.at, String(after.id));
      const order = `ORDER BY g.open DESC, g.fingerprint DESC LIMIT ${limit + 1}`;
      const rows = await this.rows(manager, scope, where, order);
      const { items, next } = pageOf(rows, limit, ({ open, id }) => ({ at: open, id }));
      return { items: await this.whole(manager, items, scope), next };
    }, MAY_LAG);
  }

  /** As committed, or as the transaction around sees it. */
  find(id: string, scope: Scope): Promise<Group | undefined> {
    return this.database.read(async (manager) => {
      const rows = await this.rows(manager, scope, new Where().and('g.fingerprint = ?', id));
      return (await this.whole(manager, rows, scope))[0];
    });
  }

  private rows(manager: EntityManager, scope: Scope, where: Where, order = ''): Promise<GroupRow[]> {
    const source = groupsAsSeen(scope, where);
    return queryRows(manager, `SELECT ${COLUMNS} FROM ${source} AS g ${where.sql} ${order}`, where.params);
  }

  private async whole(manager: EntityManager, rows: readonly GroupRow[], scope: Scope): Promise<Group[]> {
    const ids = rows.map(({ id }) => id);
    const queues = await counts(manager, 'queue', ids, scope);
    const workers = await counts(manager, 'worker', ids, scope);
    const recent = await arrivals(manager, ids, scope, this.clock.now());
    return rows.map((row) => ({
      ...row,
      queues: queues(row.id).map(({ of, total, open }) => ({ queue: of, total, open })),
      workers: workers(row.id)
        .slice(0, MAX_WORKERS)
        .map(({ of, total }) => ({ worker: of, total })),
      recent: recent(row.id),
    }));
  }
}

/** All groups, or, for a key that sees some queues only, the groups as those queues make them. */
function groupsAsSeen(scope: Scope, where: Where): string {
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

interface Count {
  group: string;
  of: string;
  total: number;
  open: number;
}

/** How many letters of each group came from each queue, or from each worker, the most first. */
async function counts(
  manager: EntityManager,
  of: 'queue' | 'worker',
  groups: readonly string[],
  scope: Scope,
): Promise<(group: string) => Count[]> {
  const where = new Where().in('t.fingerprint', groups).in('t.queue', scope);
  const found = await queryRows<Count>(
    manager,
    `SELECT t.fingerprint AS "group", t.${of} AS "of", CAST(sum(t.total) AS bigint) AS total, CAST(sum(t.open) AS bigint) AS open
     FROM dead_letter_tallies t ${where.sql} GROUP BY 1, 2 HAVING sum(t.total) > 0 ORDER BY 3 DESC, 2`,
    where.params,
  );
  return (group) => found.filter((one) => one.group === group);
}

/** How many letters of each group came in which of the last hours. */
async function arrivals(
  manager: EntityManager,
  groups: readonly string[],
  scope: Scope,
  now: number,
): Promise<(group: string) => number[]> {
  const first = hourOf(now) - HOURS + 1;
  const where = new Where().in('h.fingerprint', groups).and('h.hour >= ?', first).in('h.queue', scope);
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
