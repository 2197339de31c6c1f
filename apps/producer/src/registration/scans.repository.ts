import { dialectOf, RootEntity, ScanEntity, type EntityManager, type ScanMode } from '#database';
import { isInside, pathBytes, pathKey, pathText } from '#files';
import { OverlappingRootError } from '../producer.errors.js';
import { noScanCounters, restoredCounters, type ScanCounters } from './scan-counters.js';

interface ScanTerms {
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
  counters: ScanCounters;
}

/** When and under which rules a scan last listed something. */
interface Checkpoint {
  at: number;
  rules: string;
}

/** Rows of `roots` and `scans`. */
export class ScanRows {
  /** Continues the root's last scan if it was cut short under the same rules not long ago, otherwise begins one. */
  async begin(tx: EntityManager, terms: ScanTerms): Promise<CurrentScan> {
    const { workerId, fence, mode, rules, now } = terms;
    const rootId = await this.rootOf(tx, terms);
    const last = await tx.findOne(ScanEntity, { where: { rootId }, order: { id: 'DESC' } });
    const running = { workerId, fence, outcome: 'running' } as const;
    if (last && isResumable(last, terms)) {
      await this.save(tx, last.id, { ...running, finishedAt: null, error: null });
      return { id: last.id, rootId, resumed: true, counters: restoredCounters(last.counters) };
    }
    const ended = { outcome: 'interrupted', finishedAt: now } as const;
    await tx.update(ScanEntity, { rootId, outcome: 'running' }, ended);
    const counters = noScanCounters();
    const values = { ...running, rootId, mode, startedAt: now, counters, checkpoint: { at: now, rules } };
    const { identifiers } = await tx.insert(ScanEntity, values);
    return { id: Number(identifiers[0]?.id), rootId, resumed: false, counters };
  }

  /** Counters are written with every batch of rows, so that what is counted is what is there. */
  async save(
    tx: EntityManager,
    scanId: number,
    values: Partial<Omit<ScanEntity, 'checkpoint'>> & { checkpoint?: Checkpoint },
  ): Promise<void> {
    await tx.update(ScanEntity, scanId, values);
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
}

/** A scan that ended by itself is never continued; nor one whose listings are old, or were made under other rules. */
export function isResumable(
  last: Pick<ScanEntity, 'mode' | 'outcome' | 'checkpoint'>,
  { mode, rules, resumeWithinMs, now }: Pick<ScanTerms, 'mode' | 'rules' | 'resumeWithinMs' | 'now'>,
): boolean {
  if (last.outcome === 'completed' || last.outcome === 'refused' || last.checkpoint === null) return false;
  const checkpoint = last.checkpoint as Partial<Checkpoint>;
  return last.mode === mode && checkpoint.rules === rules && now - (checkpoint.at ?? 0) <= resumeWithinMs;
}
