import type { EntityManager } from 'typeorm';
import type { ApiKey, StoredApiKey } from './api-key.js';
import type { Database } from './database.service.js';
import { execute, queryRows } from './query.js';

const VIEW = `id, name, role, queues, created_by AS "createdBy", created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt", replaces`;
const HOUR_MS = 3_600_000;
const DEFAULT_OVERLAP_HOURS = 24;

type Row<T extends ApiKey> = Omit<T, 'queues'> & { queues: string | null };

/** The keys to dlq-admin. Only hashes of their secrets are here. */
export class ApiKeys {
  constructor(protected readonly database: Database) {}

  async find(id: string): Promise<StoredApiKey | null> {
    const [row] = await this.database.read((manager) =>
      queryRows<Row<StoredApiKey>>(
        manager,
        `SELECT ${VIEW}, key_hash AS "keyHash" FROM api_keys WHERE id = $1`,
        [id],
      ),
    );
    return row ? withQueues(row) : null;
  }

  list(): Promise<ApiKey[]> {
    return this.database.read(async (manager) => {
      const rows = await queryRows<Row<ApiKey>>(
        manager,
        `SELECT ${VIEW} FROM api_keys ORDER BY created_at DESC, id LIMIT 1000`,
      );
      return rows.map(withQueues);
    });
  }

  async get(tx: EntityManager, id: string): Promise<ApiKey | null> {
    const [row] = await queryRows<Row<ApiKey>>(tx, `SELECT ${VIEW} FROM api_keys WHERE id = $1`, [id]);
    return row ? withQueues(row) : null;
  }

  /** Stores a new key; the first of all must be an admin's. One that it replaces goes on working for the overlap, and no longer than it would have. */
  async add(
    tx: EntityManager,
    key: StoredApiKey,
    overlapHours = DEFAULT_OVERLAP_HOURS,
  ): Promise<'added' | 'nothing to replace' | 'no admin'> {
    if (!(await this.leavesAnAdmin(tx, key))) return 'no admin';
    if (key.replaces !== null && !(await this.get(tx, key.replaces))) return 'nothing to replace';
    await execute(
      tx,
      `INSERT INTO api_keys (id, name, role, key_hash, queues, created_by, created_at, expires_at, replaces)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        key.id,
        key.name,
        key.role,
        key.keyHash,
        key.queues ? JSON.stringify(key.queues) : null,
        key.createdBy,
        key.createdAt,
        key.expiresAt,
        key.replaces,
      ],
    );
    if (key.replaces !== null) await expireAt(tx, key.replaces, key.createdAt + overlapHours * HOUR_MS);
    return 'added';
  }

  private async leavesAnAdmin(tx: EntityManager, key: StoredApiKey): Promise<boolean> {
    if (key.role === 'admin' && key.queues === null) return true;
    const admins = await queryRows(
      tx,
      `SELECT id FROM api_keys WHERE role = 'admin' AND queues IS NULL AND revoked_at IS NULL
         AND (expires_at IS NULL OR expires_at > $1) LIMIT 1`,
      [key.createdAt],
    );
    return admins.length > 0;
  }

  /** Ends a key and every session begun with it. */
  async revoke(tx: EntityManager, id: string, now: number): Promise<void> {
    await execute(tx, 'UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL', [now, id]);
    await execute(tx, 'DELETE FROM sessions WHERE key_id = $1', [id]);
  }
}

async function expireAt(tx: EntityManager, id: string, at: number): Promise<void> {
  await execute(
    tx,
    'UPDATE api_keys SET expires_at = $1 WHERE id = $2 AND (expires_at IS NULL OR expires_at > $1)',
    [at, id],
  );
}

function withQueues<T extends ApiKey>(row: Row<T>): T {
  return {
    ...row,
    queues: row.queues === null ? null : (JSON.parse(row.queues) as string[]),
  } as unknown as T;
}
