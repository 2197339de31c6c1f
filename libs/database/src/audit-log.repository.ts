import { createHash, createHmac } from 'node:crypto';
import { LessThan, MoreThan, type EntityManager } from 'typeorm';
import type { Database } from './database.service.js';
import { AuditEntryEntity } from './entities/access.entity.js';
import { dialectOf, storableText } from './query.js';

export interface AuditEntry {
  at: number;
  actor: string;
  role?: string;
  keyId?: string;
  ip?: string;
  action: string;
  target?: string;
  before?: unknown;
  after?: unknown;
  /** `ok`, `refused`, `failed` … */
  result: string;
  reason?: string;
}

/** `sealed` rows carry a keyed hash; without the key only their order can be checked. */
export type ChainReport =
  | { state: 'intact'; rows: number; head: string; sealed: number }
  | { state: 'broken'; id: number; problem: string };

/** The end of the chain as it was noted elsewhere: in the log, in an export. */
export interface ChainAnchor {
  id: number;
  hash: string;
}

/** What a row's hash is over, in this order for ever. */
export const HASHED_FIELDS = [
  ...(['id', 'at', 'actor', 'role', 'keyId', 'ip', 'action', 'target'] as const),
  ...(['before', 'after', 'result', 'reason'] as const),
] as const satisfies (keyof AuditEntryEntity)[];

type HashedRow = Pick<AuditEntryEntity, (typeof HASHED_FIELDS)[number]>;

const SEAL = 'sealed:';
const GENESIS = '0'.repeat(64);
const AUDIT_LOCK = 7_233_002;
const PAGE = 1_000;

/**
 * The append-only record of who changed what. Rows are numbered without gaps, and each carries a hash over itself and the
 * row before, so that a changed, missing or inserted row breaks the chain at its place. With a key the hash is one that only
 * its holders can make. A cut end breaks nothing, so `append` tells the new end: note it elsewhere and verify against it.
 */
export class AuditLog {
  constructor(
    private readonly database: Database,
    private readonly key?: string,
  ) {}

  /** Appends in the caller's transaction: the record exists exactly if what it records does. */
  async append(tx: EntityManager, entry: AuditEntry): Promise<ChainAnchor> {
    // Appenders take turns until they commit; two that saw the same last row would fork the chain.
    if (dialectOf(tx) === 'postgres') await tx.query('SELECT pg_advisory_xact_lock($1)', [AUDIT_LOCK]);
    const newest = { select: { id: true, hash: true }, order: { id: 'DESC' }, take: 1 } as const;
    const [last] = await tx.find(AuditEntryEntity, newest);
    const id = (last?.id ?? 0) + 1;
    const row = storedRow(entry, id);
    const previousHash = last?.hash ?? GENESIS;
    const hash = rowHash(previousHash, row, this.key);
    await tx.insert(AuditEntryEntity, { ...row, previousHash, hash });
    return { id, hash };
  }

  /** Newest first, from before a row on. */
  list(
    { before, ...where }: { before?: number; target?: string; keyId?: string },
    limit: number,
  ): Promise<AuditEntryEntity[]> {
    return this.database.repository(AuditEntryEntity).find({
      where: { ...where, ...(before !== undefined && { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  /** Walks the whole chain as of now and reports the first row that does not fit, or that the anchor's row is gone. */
  verifyChain(anchor?: ChainAnchor): Promise<ChainReport> {
    return this.database.snapshot((manager) => walk(manager, this.key, anchor));
  }
}

async function walk(manager: EntityManager, key?: string, anchor?: ChainAnchor): Promise<ChainReport> {
  let head = GENESIS;
  let rows = 0;
  let sealed = 0;
  for (;;) {
    const page = await manager.find(AuditEntryEntity, {
      where: { id: MoreThan(rows) },
      order: { id: 'ASC' },
      take: PAGE,
    });
    for (const row of page) {
      const isSealed = row.hash.startsWith(SEAL);
      const problem =
        problemOf(row, rows + 1, head, key) ??
        (sealed > 0 && !isSealed ? 'row is not sealed, but earlier ones are' : undefined) ??
        (row.id === anchor?.id && row.hash !== anchor.hash ? 'row is not the one that was noted' : undefined);
      if (problem) return { state: 'broken', id: rows + 1, problem };
      head = row.hash;
      rows++;
      if (isSealed) sealed++;
    }
    if (page.length === PAGE) continue;
    return anchor && anchor.id > rows
      ? { state: 'broken', id: rows + 1, problem: `the end is cut off: row ${anchor.id} was noted` }
      : { state: 'intact', rows, head, sealed };
  }
}

function problemOf(row: AuditEntryEntity, id: number, previous: string, key?: string): string | undefined {
  if (row.id !== id) return 'row is missing';
  if (row.previousHash !== previous) return 'row does not follow the one before';
  const isSealed = row.hash.startsWith(SEAL);
  if (isSealed && key === undefined) return undefined;
  if (row.hash === rowHash(previous, row, isSealed ? key : undefined)) return undefined;
  return isSealed ? 'row was changed, or sealed with another key' : 'row was changed';
}

/** An entry as it is stored: what is hashed is what is stored. */
function storedRow(entry: AuditEntry, id: number): HashedRow {
  const json = (value: unknown): unknown => (value === undefined ? undefined : JSON.stringify(value));
  const all: Record<string, unknown> = { ...entry, id, before: json(entry.before), after: json(entry.after) };
  const stored = (value: unknown): unknown =>
    typeof value === 'string' ? storableText(value) : (value ?? null);
  return Object.fromEntries(
    HASHED_FIELDS.map((field) => [field, stored(all[field])]),
  ) as unknown as HashedRow;
}

/** Over the row and the one before it; with a key, one that only its holders can make. */
function rowHash(previous: string, row: HashedRow, key?: string): string {
  const content = `${previous}\n${JSON.stringify(HASHED_FIELDS.map((field) => row[field]))}`;
  return key === undefined
    ? createHash('sha256').update(content).digest('hex')
    : SEAL + createHmac('sha256', key).update(content).digest('hex');
}
