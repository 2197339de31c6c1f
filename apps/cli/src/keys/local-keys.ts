import { ApiKeyEntity, ApiKeys, apiKeyRow, AuditLog, ENVIRONMENT_KEY, newApiKey } from '#database';
import type { ApiKey, ApiKeyRequest, Database } from '#database';
import { actor, auditEntry } from '../audit.js';
import { CLI_EXIT, CliError, UsageError } from '../cli.errors.js';

/**
 * Keys made and ended in the database itself, without dlq-admin, which does not serve other machines before it has one.
 * Whoever can write to the database may do so; the audit log tells of it in the same transaction.
 */
export class LocalKeys {
  private readonly stored: ApiKeys;
  private readonly audit: AuditLog;

  constructor(
    private readonly database: Database,
    auditKey?: string,
  ) {
    this.stored = new ApiKeys(database.repository(ApiKeyEntity));
    this.audit = new AuditLog(database, auditKey);
  }

  async keys(): Promise<{ items: ApiKey[]; next: null }> {
    return { items: await this.stored.list(), next: null };
  }

  createKey(request: ApiKeyRequest): Promise<ApiKey & { key: string }> {
    const { id, key, hash } = newApiKey();
    const row = apiKeyRow(request, { id, by: actor(), at: Date.now() });
    return this.database.inTransaction(async (tx) => {
      const added = await this.stored.add(tx, { ...row, keyHash: hash }, request.overlapHours);
      if (added === 'nothing to replace') throw noSuchKey(request.replaces ?? '');
      if (added === 'no admin')
        throw new UsageError(
          'no admin key for all queues exists, so nobody could administer; make one first: millrace keys create --role admin',
        );
      await this.audit.append(tx, auditEntry('key.create', `key:${id}`, { after: row }));
      return { ...row, key };
    });
  }

  revokeKey(id: string): Promise<ApiKey> {
    return this.database.inTransaction(async (tx) => {
      const before = await this.stored.get(tx, id);
      if (!before) throw noSuchKey(id);
      if (id === ENVIRONMENT_KEY)
        throw new UsageError('this key comes from ADMIN_KEY of dlq-admin; change it there and restart');
      const revokedAt = before.revokedAt ?? Date.now();
      await this.stored.revoke(tx, id, revokedAt);
      const facts = { before: { revokedAt: before.revokedAt }, after: { revokedAt } };
      await this.audit.append(tx, auditEntry('key.revoke', `key:${id}`, facts));
      return { ...before, revokedAt };
    });
  }
}

function noSuchKey(id: string): CliError {
  return new CliError(`there is no key ${id}; see \`millrace keys list\``, CLI_EXIT.noInput);
}
