import { Inject, Injectable } from '@nestjs/common';
import { Database, execute, queryOne, queryRows, type EntityManager } from '#database';
import type { KeyView, Role } from '#dlq-client';

export interface StoredKey extends KeyView {
  keyHash: string;
}

export interface StoredSession {
  keyId: string;
  csrfHash: string;
  expiresAt: number;
}

/** The id of the key that the environment gives (ADMIN_KEY). */
export const ENVIRONMENT_KEY = 'env';

const VIEW = `id, name, role, queues, created_by AS "createdBy", created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt", replaces`;

type Row<T extends { queues: string[] | null }> = Omit<T, 'queues'> & { queues: string | null };

/** Keys and sessions. Only hashes of secrets are here. */
@Injectable()
export class KeysRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  async find(id: string): Promise<StoredKey | null> {
    const [row] = await this.database.read((manager) =>
      queryRows<Row<StoredKey>>(
        manager,
        `SELECT ${VIEW}, key_hash AS "keyHash" FROM api_keys WHERE id = $1`,
        [id],
      ),
    );
    return row ? withQueues(row) : null;
  }

  list(): Promise<KeyView[]> {
    return this.database.read(async (manager) => {
      const rows = await queryRows<Row<KeyView>>(
        manager,
        `SELECT ${VIEW} FROM api_keys ORDER BY created_at DESC, id LIMIT 1000`,
      );
      return rows.map(withQueues);
    });
  }

  /** Whether any key would be let in now. */
  async anyUsable(now: number): Promise<boolean> {
    const { count } = await this.database.read((manager) =>
      queryOne<{ count: number }>(
        manager,
        'SELECT count(*) AS count FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)',
        [now],
      ),
    );
    return count > 0;
  }

  async add(tx: EntityManager, key: StoredKey): Promise<void> {
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
  }

  async get(tx: EntityManager, id: string): Promise<KeyView | null> {
    const [row] = await queryRows<Row<KeyView>>(tx, `SELECT ${VIEW} FROM api_keys WHERE id = $1`, [id]);
    return row ? withQueues(row) : null;
  }

  /** Ends a key and every session begun with it. */
  async revoke(tx: EntityManager, id: string, now: number): Promise<void> {
    await execute(tx, 'UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL', [now, id]);
    await execute(tx, 'DELETE FROM sessions WHERE key_id = $1', [id]);
  }

  /** Lets a key that is rotated out live until `at`, and no longer than it would have. */
  async expireAt(tx: EntityManager, id: string, at: number): Promise<void> {
    await execute(
      tx,
      'UPDATE api_keys SET expires_at = $1 WHERE id = $2 AND (expires_at IS NULL OR expires_at > $1)',
      [at, id],
    );
  }

  /** Makes ADMIN_KEY a key like any other, or ends it when it is no longer given. A changed key ends its sessions. */
  setEnvironmentKey(hash: string | undefined, now: number): Promise<void> {
    return this.database.inTransaction(async (tx) => {
      const [known] = await queryRows<{ hash: string; revokedAt: number | null }>(
        tx,
        'SELECT key_hash AS hash, revoked_at AS "revokedAt" FROM api_keys WHERE id = $1',
        [ENVIRONMENT_KEY],
      );
      if (hash === undefined) return known ? this.revoke(tx, ENVIRONMENT_KEY, now) : undefined;
      if (known && known.hash !== hash)
        await execute(tx, 'DELETE FROM sessions WHERE key_id = $1', [ENVIRONMENT_KEY]);
      await execute(
        tx,
        `INSERT INTO api_keys (id, name, role, key_hash, created_by, created_at)
         VALUES ($1, 'ADMIN_KEY', 'admin', $2, 'environment', $3)
         ON CONFLICT (id) DO UPDATE SET key_hash = excluded.key_hash, revoked_at = NULL, expires_at = NULL`,
        [ENVIRONMENT_KEY, hash, now],
      );
    });
  }

  async touch(id: string, now: number): Promise<void> {
    await this.database.inTransaction((tx) =>
      execute(tx, 'UPDATE api_keys SET last_used_at = $1 WHERE id = $2', [now, id]),
    );
  }

  async addSession(tx: EntityManager, idHash: string, session: StoredSession, now: number): Promise<void> {
    await execute(
      tx,
      'INSERT INTO sessions (id_hash, key_id, csrf_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)',
      [idHash, session.keyId, session.csrfHash, now, session.expiresAt],
    );
    await execute(tx, 'DELETE FROM sessions WHERE expires_at < $1', [now]);
  }

  async findSession(idHash: string): Promise<StoredSession | null> {
    const [row] = await this.database.read((manager) =>
      queryRows<StoredSession>(
        manager,
        'SELECT key_id AS "keyId", csrf_hash AS "csrfHash", expires_at AS "expiresAt" FROM sessions WHERE id_hash = $1',
        [idHash],
      ),
    );
    return row ?? null;
  }

  async endSession(tx: EntityManager, idHash: string): Promise<void> {
    await execute(tx, 'DELETE FROM sessions WHERE id_hash = $1', [idHash]);
  }
}

function withQueues<T extends { queues: string[] | null; role: Role }>(row: Row<T>): T {
  return {
    ...row,
    queues: row.queues === null ? null : (JSON.parse(row.queues) as string[]),
  } as unknown as T;
}
