import { queryRows, type EntityManager } from '#database';

/** A tree that the proof speaks of: when it was last seen whole, under which rules, and what these left out. */
export interface Scope {
  root: string;
  scannedAt: string | null;
  rules: Record<string, unknown>;
  /** Entries that a rule left out of the last scan, by reason. */
  leftOut: Record<string, number>;
}

export async function scopesOf(manager: EntityManager): Promise<Scope[]> {
  const rows = await queryRows<{
    path: string;
    rules: string;
    finished_at: number | null;
    counters: string | null;
  }>(
    manager,
    `SELECT r.path, r.rules, s.finished_at, s.counters FROM roots r
     LEFT JOIN scans s ON s.id = (SELECT max(id) FROM scans WHERE root_id = r.id AND outcome = 'completed')
     ORDER BY r.id`,
  );
  return rows.map(({ path, rules, finished_at, counters }) => ({
    root: path,
    scannedAt: finished_at === null ? null : new Date(finished_at).toISOString(),
    rules: JSON.parse(rules) as Record<string, unknown>,
    leftOut: (JSON.parse(counters ?? '{}') as { leftOut?: Record<string, number> }).leftOut ?? {},
  }));
}
