import {
  dialectOf,
  execute,
  queryOne,
  queryRows,
  type EntityManager,
  type ScanMode,
  type ScanOutcome,
} from '#database';
import { isInside, pathBytes, pathKey, pathText } from '#files';
import { OverlappingRootError } from '../producer.errors.js';
import { noScanCounters, restoredCounters, type ScanCounters } from './scan-counters.js';

export interface ScanTerms {
  /** The root's real path. */
  root: Buffer;
  workerId: string;
  fence: number;
  mode: ScanMode;
  /** What the scan looks for; another scan is continued only under the same rules. */
  rules: string;
  resumeWithinMs: number;
  now: number;
}

/** The scan that this process carries out. */
export interface CurrentScan {
  id: number;
  rootId: number;
  resumed: boolean;
  startedAt: number;
  counters: ScanCounters;
}

interface ScanRow {
  id: number;
  mode: string;
  outcome: ScanOutcome;
  started_at: number;
  counters: string;
  checkpoint: string | null;
}

/** Rows of `roots` and `scans`. */
export class ScanRows {
  /** Continues the root's last scan if it was cut short under the same rules not long ago, otherwise begins one. */
  async begin(tx: EntityManager, terms: ScanTerms): Promise<CurrentScan> {
    const rootId = await this.rootOf(tx, terms);
    const last = await this.lastScan(tx, rootId);
    if (last && isResumable(last, terms)) return this.resume(tx, rootId, last, terms);
    await execute(
      tx,
      `UPDATE scans SET outcome = 'interrupted', finished_at = $2 WHERE root_id = $1 AND outcome = 'running'`,
      [rootId, terms.now],
    );
    return this.create(tx, rootId, terms);
  }

  /** Written with every batch of rows, so that what is counted is what is there. */
  async saveProgress(
    tx: EntityManager,
    scanId: number,
    counters: ScanCounters,
    checkpoint: { at: number; rules: string },
  ): Promise<void> {
    await execute(tx, 'UPDATE scans SET counters = $2, checkpoint = $3 WHERE id = $1', [
      scanId,
      JSON.stringify(counters),
      JSON.stringify(checkpoint),
    ]);
  }

  async end(
    tx: EntityManager,
    scanId: number,
    outcome: ScanOutcome,
    now: number,
    error: string | null = null,
  ): Promise<void> {
    await execute(tx, 'UPDATE scans SET outcome = $2, finished_at = $3, error = $4 WHERE id = $1', [
      scanId,
      outcome,
      now,
      error,
    ]);
  }

  private async rootOf(tx: EntityManager, { root, rules, now }: ScanTerms): Promise<number> {
    const { text, bytes } = pathText(root);
    // Two that begin at once do not see each other's root; one of them waits here.
    if (dialectOf(tx) === 'postgres') await tx.query('LOCK TABLE roots IN SHARE ROW EXCLUSIVE MODE');
    await this.refuseOverlap(tx, root, text);
    const { id } = await queryOne<{ id: number }>(
      tx,
      `INSERT INTO roots (path, path_bytes, path_key, rules, created_at) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (path_key) DO UPDATE SET rules = excluded.rules RETURNING id`,
      [text, bytes, pathKey(root), rules, now],
    );
    return id;
  }

  private async refuseOverlap(tx: EntityManager, root: Buffer, text: string): Promise<void> {
    const roots = await queryRows<{ path: string; path_bytes: string | null }>(
      tx,
      'SELECT path, path_bytes FROM roots',
    );
    for (const { path, path_bytes } of roots) {
      const other = pathBytes({ text: path, bytes: path_bytes });
      if (!other.equals(root) && (isInside(other, root) || isInside(root, other)))
        throw new OverlappingRootError(text, path);
    }
  }

  private async lastScan(tx: EntityManager, rootId: number): Promise<ScanRow | undefined> {
    const [row] = await queryRows<ScanRow>(
      tx,
      `SELECT id, mode, outcome, started_at, counters, checkpoint FROM scans
       WHERE root_id = $1 ORDER BY id DESC LIMIT 1`,
      [rootId],
    );
    return row;
  }

  private async resume(
    tx: EntityManager,
    rootId: number,
    last: ScanRow,
    { workerId, fence }: ScanTerms,
  ): Promise<CurrentScan> {
    await execute(
      tx,
      `UPDATE scans SET worker_id = $2, fence = $3, outcome = 'running', finished_at = NULL, error = NULL WHERE id = $1`,
      [last.id, workerId, fence],
    );
    const counters = restoredCounters(JSON.parse(last.counters));
    return { id: last.id, rootId, resumed: true, startedAt: last.started_at, counters };
  }

  private async create(tx: EntityManager, rootId: number, terms: ScanTerms): Promise<CurrentScan> {
    const { workerId, fence, mode, now, rules } = terms;
    const counters = noScanCounters();
    const { id } = await queryOne<{ id: number }>(
      tx,
      `INSERT INTO scans (root_id, worker_id, fence, mode, outcome, started_at, counters, checkpoint)
       VALUES ($1, $2, $3, $4, 'running', $5, $6, $7) RETURNING id`,
      [rootId, workerId, fence, mode, now, JSON.stringify(counters), JSON.stringify({ at: now, rules })],
    );
    return { id, rootId, resumed: false, startedAt: now, counters };
  }
}

/** A scan that ended by itself is never continued; nor one whose listings are old, or were made under other rules. */
export function isResumable(
  last: Pick<ScanRow, 'mode' | 'outcome' | 'checkpoint'>,
  { mode, rules, resumeWithinMs, now }: Pick<ScanTerms, 'mode' | 'rules' | 'resumeWithinMs' | 'now'>,
): boolean {
  if (last.outcome === 'completed' || last.outcome === 'refused' || last.checkpoint === null) return false;
  const checkpoint = JSON.parse(last.checkpoint) as { at?: number; rules?: string };
  return last.mode === mode && checkpoint.rules === rules && now - (checkpoint.at ?? 0) <= resumeWithinMs;
}
