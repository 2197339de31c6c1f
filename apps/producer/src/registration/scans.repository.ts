import {
  dialectOf,
  RootEntity,
  ScanEntity,
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

/** Rows of `roots` and `scans`. */
export class ScanRows {
  /** Continues the root's last scan if it was cut short under the same rules not long ago, otherwise begins one. */
  async begin(tx: EntityManager, terms: ScanTerms): Promise<CurrentScan> {
    const rootId = await this.rootOf(tx, terms);
    const last = await this.lastScan(tx, rootId);
    if (last && isResumable(last, terms)) return this.resume(tx, rootId, last, terms);
    await tx.update(
      ScanEntity,
      { rootId, outcome: 'running' },
      { outcome: 'interrupted', finishedAt: terms.now },
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
    await tx.update(ScanEntity, scanId, { counters, checkpoint });
  }

  async end(
    tx: EntityManager,
    scanId: number,
    outcome: ScanOutcome,
    now: number,
    error: string | null = null,
  ): Promise<void> {
    await tx.update(ScanEntity, scanId, { outcome, finishedAt: now, error });
  }

  private async rootOf(tx: EntityManager, { root, rules, now }: ScanTerms): Promise<number> {
    const { text, bytes } = pathText(root);
    // Two that begin at once do not see each other's root; one of them waits here.
    if (dialectOf(tx) === 'postgres') await tx.query('LOCK TABLE roots IN SHARE ROW EXCLUSIVE MODE');
    await this.refuseOverlap(tx, root, text);
    const roots = tx.getRepository(RootEntity);
    const values = { path: text, pathBytes: bytes, pathKey: pathKey(root), rules, createdAt: now };
    await roots
      .createQueryBuilder()
      .insert()
      .values(values)
      .orUpdate(['rules'], ['path_key'])
      .updateEntity(false)
      .execute();
    const { id } = await roots.findOneByOrFail({ pathKey: values.pathKey });
    return id;
  }

  private async refuseOverlap(tx: EntityManager, root: Buffer, text: string): Promise<void> {
    for (const { path, pathBytes: bytes } of await tx.find(RootEntity)) {
      const other = pathBytes({ text: path, bytes });
      if (!other.equals(root) && (isInside(other, root) || isInside(root, other)))
        throw new OverlappingRootError(text, path);
    }
  }

  private lastScan(tx: EntityManager, rootId: number): Promise<ScanEntity | null> {
    return tx.findOne(ScanEntity, { where: { rootId }, order: { id: 'DESC' } });
  }

  private async resume(
    tx: EntityManager,
    rootId: number,
    last: ScanEntity,
    { workerId, fence }: ScanTerms,
  ): Promise<CurrentScan> {
    const running = { workerId, fence, outcome: 'running', finishedAt: null, error: null } as const;
    await tx.update(ScanEntity, last.id, running);
    const counters = restoredCounters(last.counters);
    return { id: last.id, rootId, resumed: true, startedAt: last.startedAt, counters };
  }

  private async create(tx: EntityManager, rootId: number, terms: ScanTerms): Promise<CurrentScan> {
    const { workerId, fence, mode, now, rules } = terms;
    const counters = noScanCounters();
    const scan = { rootId, workerId, fence, mode, outcome: 'running', startedAt: now } as const;
    const checkpoint = { at: now, rules };
    const { identifiers } = await tx.insert(ScanEntity, { ...scan, counters, checkpoint });
    const id = Number(identifiers[0]?.id);
    return { id, rootId, resumed: false, startedAt: now, counters };
  }
}

/** A scan that ended by itself is never continued; nor one whose listings are old, or were made under other rules. */
export function isResumable(
  last: Pick<ScanEntity, 'mode' | 'outcome' | 'checkpoint'>,
  { mode, rules, resumeWithinMs, now }: Pick<ScanTerms, 'mode' | 'rules' | 'resumeWithinMs' | 'now'>,
): boolean {
  if (last.outcome === 'completed' || last.outcome === 'refused' || last.checkpoint === null) return false;
  const checkpoint = last.checkpoint as { at?: number; rules?: string };
  return last.mode === mode && checkpoint.rules === rules && now - (checkpoint.at ?? 0) <= resumeWithinMs;
}
