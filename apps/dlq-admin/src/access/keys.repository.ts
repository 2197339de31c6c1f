import { Injectable } from '@nestjs/common';
import {
  ApiKeys,
  Database,
  ENVIRONMENT_KEY,
  execute,
  queryOne,
  queryRows,
  type EntityManager,
} from '#database';

export interface StoredSession {
  keyId: string;
  csrfHash: string;
  expiresAt: number;
}

const CODE = 'sign-in code';

/** Keys and sessions. Only hashes of secrets are here. */
@Injectable()
export class KeysRepository extends ApiKeys {
  constructor(database: Database) {
    super(database);
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

  /** Keeps a sign-in code of a key. It is a row of sessions, so it ends with its key; no cookie ever fits it. */
  async addCode(
    tx: EntityManager,
    codeHash: string,
    code: Omit<StoredSession, 'csrfHash'>,
    now: number,
  ): Promise<void> {
    await this.addSession(tx, codeHash, { ...code, csrfHash: CODE }, now);
  }

  /** The key of a sign-in code, which is used up by this. */
  takeCode(codeHash: string, now: number): Promise<string | null> {
    return this.database.inTransaction(async (tx) => {
      const [row] = await queryRows<{ keyId: string }>(
        tx,
        'DELETE FROM sessions WHERE id_hash = $1 AND csrf_hash = $2 AND expires_at > $3 RETURNING key_id AS "keyId"',
        [codeHash, CODE, now],
      );
      return row?.keyId ?? null;
    });
  }

  async findSession(idHash: string): Promise<StoredSession | null> {
    const [row] = await this.database.read((manager) =>
      queryRows<StoredSession>(
        manager,
        'SELECT key_id AS "keyId", csrf_hash AS "csrfHash", expires_at AS "expiresAt" FROM sessions WHERE id_hash = $1 AND csrf_hash <> $2',
        [idHash, CODE],
      ),
    );
    return row ?? null;
  }

  async endSession(tx: EntityManager, idHash: string): Promise<void> {
    await execute(tx, 'DELETE FROM sessions WHERE id_hash = $1', [idHash]);
  }
}
