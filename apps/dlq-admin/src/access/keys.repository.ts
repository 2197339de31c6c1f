import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, MoreThan, Not, type Repository } from 'typeorm';
import { ApiKeyEntity, ApiKeys, Database, ENVIRONMENT_KEY, SessionEntity, usableAt } from '#database';
import type { EntityManager } from '#database';

const CODE = 'sign-in code';

/** Keys and sessions. Only hashes of secrets are here. */
@Injectable()
export class KeysRepository extends ApiKeys {
  constructor(
    private readonly database: Database,
    @InjectRepository(ApiKeyEntity) keys: Repository<ApiKeyEntity>,
    @InjectRepository(SessionEntity) private readonly sessions: Repository<SessionEntity>,
  ) {
    super(keys);
  }

  /** Whether any key would be let in now. */
  anyUsable(now: number): Promise<boolean> {
    return this.keys.existsBy(usableAt(now));
  }

  /** Makes ADMIN_KEY a key like any other, or ends it when it is no longer given. A changed key ends its sessions. */
  setEnvironmentKey(keyHash: string | undefined, now: number): Promise<void> {
    return this.database.inTransaction(async (tx) => {
      if (keyHash === undefined) return this.revoke(tx, ENVIRONMENT_KEY, now);
      const keys = tx.withRepository(this.keys);
      if (!(await keys.existsBy({ id: ENVIRONMENT_KEY, keyHash })))
        await tx.withRepository(this.sessions).delete({ keyId: ENVIRONMENT_KEY });
      await keys
        .createQueryBuilder()
        .insert()
        .values({
          ...{ id: ENVIRONMENT_KEY, name: 'ADMIN_KEY', role: 'admin', keyHash },
          ...{ createdBy: 'environment', createdAt: now, revokedAt: null, expiresAt: null },
        })
        .orUpdate(['key_hash', 'revoked_at', 'expires_at'], ['id'])
        .execute();
    });
  }

  async touch(id: string, now: number): Promise<void> {
    await this.database.inTransaction((tx) =>
      tx.withRepository(this.keys).update({ id }, { lastUsedAt: now }),
    );
  }

  async addSession(tx: EntityManager, session: SessionEntity): Promise<void> {
    const sessions = tx.withRepository(this.sessions);
    await sessions.insert(session);
    await sessions.delete({ expiresAt: LessThan(session.createdAt) });
  }

  /** Keeps a sign-in code of a key. It is a row of sessions, so it ends with its key; no cookie ever fits it. */
  addCode(tx: EntityManager, code: Omit<SessionEntity, 'csrfHash'>): Promise<void> {
    return this.addSession(tx, { ...code, csrfHash: CODE });
  }

  /** The key of a sign-in code, which is used up by this: of two who present it at once, one deletes it. */
  takeCode(idHash: string, now: number): Promise<string | null> {
    return this.database.inTransaction(async (tx) => {
      const sessions = tx.withRepository(this.sessions);
      const code = await sessions.findOneBy({ idHash, csrfHash: CODE, expiresAt: MoreThan(now) });
      const { affected } = code ? await sessions.delete({ idHash }) : { affected: 0 };
      return code && affected === 1 ? code.keyId : null;
    });
  }

  findSession(idHash: string): Promise<SessionEntity | null> {
    return this.sessions.findOneBy({ idHash, csrfHash: Not(CODE) });
  }

  async endSession(tx: EntityManager, idHash: string): Promise<void> {
    await tx.withRepository(this.sessions).delete({ idHash });
  }
}
