import { IsNull, MoreThan, Or, type EntityManager, type FindOptionsWhere, type Repository } from 'typeorm';
import type { ApiKey, StoredApiKey } from './api-key.js';
import { type ApiKeyEntity, SessionEntity } from './entities/access.entity.js';

const HOUR_MS = 3_600_000;
const DEFAULT_OVERLAP_HOURS = 24;
const LIST_LIMIT = 1_000;

/** The keys to dlq-admin. Only hashes of their secrets are here. */
export class ApiKeys {
  constructor(protected readonly keys: Repository<ApiKeyEntity>) {}

  /** With the hash of its secret, which no other read brings along. */
  find(id: string): Promise<StoredApiKey | null> {
    return this.keys.createQueryBuilder('key').addSelect('key.keyHash').where({ id }).getOne();
  }

  list(): Promise<ApiKey[]> {
    return this.keys.find({ order: { createdAt: 'DESC', id: 'ASC' }, take: LIST_LIMIT });
  }

  get(tx: EntityManager, id: string): Promise<ApiKey | null> {
    return tx.withRepository(this.keys).findOneBy({ id });
  }

  /** Stores a new key; the first of all must be an admin's. One that it replaces goes on working for the overlap, and no longer than it would have. */
  async add(
    tx: EntityManager,
    key: StoredApiKey,
    overlapHours = DEFAULT_OVERLAP_HOURS,
  ): Promise<'added' | 'nothing to replace' | 'no admin'> {
    const keys = tx.withRepository(this.keys);
    if (!(await leavesAnAdmin(keys, key))) return 'no admin';
    if (key.replaces !== null && !(await keys.existsBy({ id: key.replaces }))) return 'nothing to replace';
    await keys.insert(key);
    const end = key.createdAt + overlapHours * HOUR_MS;
    if (key.replaces !== null)
      await keys.update({ id: key.replaces, expiresAt: lastsBeyond(end) }, { expiresAt: end });
    return 'added';
  }

  /** Ends a key and every session begun with it. */
  async revoke(tx: EntityManager, id: string, now: number): Promise<void> {
    await tx.withRepository(this.keys).update({ id, revokedAt: IsNull() }, { revokedAt: now });
    await tx.delete(SessionEntity, { keyId: id });
  }
}

/** Keys that are let in at this time. */
export function usableAt(now: number): FindOptionsWhere<ApiKeyEntity> {
  return { revokedAt: IsNull(), expiresAt: lastsBeyond(now) };
}

const lastsBeyond = (at: number): FindOptionsWhere<ApiKeyEntity>['expiresAt'] => Or(IsNull(), MoreThan(at));

async function leavesAnAdmin(keys: Repository<ApiKeyEntity>, key: StoredApiKey): Promise<boolean> {
  if (key.role === 'admin' && key.queues === null) return true;
  return keys.existsBy({ ...usableAt(key.createdAt), role: 'admin', queues: IsNull() });
}
