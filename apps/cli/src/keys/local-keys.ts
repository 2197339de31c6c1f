import {
  ApiKeyEntity,
  ApiKeys,
  apiKeyRow,
  AuditLog,
  ENVIRONMENT_KEY,
  newApiKey,
  type ApiKey,
  type ApiKeyRequest,
  type AuditEntry,
  type Database,
} from '#database';
import { actor } from '../actor.js';
import { CLI_EXIT, CliError } from '../cli.errors.js';

/**
 * Keys made and ended in the database itself, without dlq-admin, which does not serve other machines before it has one.
 * Whoever can write to the database may do so; the audit log tells of it in the same transaction.
 */
export class LocalKeys {
  private readonly keys: ApiKeys;
  private readonly audit: AuditLog;

  constructor(
    private readonly database: Database,
    auditKey?: string,
  ) {
    this.keys = new ApiKeys(database.repository(ApiKeyEntity));
    this.audit = new AuditLog(database, auditKey);
  }

  list(): Promise<ApiKey[]> {
    return this.keys.list();
  }

  create(request: ApiKeyRequest): Promise<ApiKey & { key: string }> {
    const { id, key, hash } = newApiKey();
    const row = apiKeyRow(request, { id, by: actor(), at: Date.now() });
    return this.database.inTransaction(async (tx) => {
      const added = await this.keys.add(tx, { ...row, keyHash: hash }, request.overlapHours);
      if (added === 'nothing to replace') throw noSuchKey(request.replaces ?? '');
      if (added === 'no admin')
        throw new CliError(
          'no admin key for all queues exists, so nobody could administer; make one first: millrace keys create --role admin',
          CLI_EXIT.usage,
        );
      await this.audit.append(tx, entry('key.create', id, { after: row }));
      return { ...row, key };
    });
  }

  revoke(id: string): Promise<ApiKey> {
    return this.database.inTransaction(async (tx) => {
      const before = await this.keys.get(tx, id);
      if (!before) throw noSuchKey(id);
      if (id === ENVIRONMENT_KEY)
        throw new CliError(
          'this key comes from ADMIN_KEY of dlq-admin; change it there and restart',
          CLI_EXIT.usage,
        );
      const revokedAt = before.revokedAt ?? Date.now();
      await this.keys.revoke(tx, id, revokedAt);
      const facts = { before: { revokedAt: before.revokedAt }, after: { revokedAt } };
      await this.audit.append(tx, entry('key.revoke', id, facts));
      return { ...before, revokedAt };
    });
  }
}

function entry(action: string, id: string, facts: Pick<AuditEntry, 'before' | 'after'>): AuditEntry {
  return {
    at: Date.now(),
    actor: actor(),
    role: 'admin',
    action,
    target: `key:${id}`,
    ...facts,
    result: 'ok',
  };
}

function noSuchKey(id: string): CliError {
  return new CliError(`there is no key ${id}; see \`millrace keys list\``, CLI_EXIT.noInput);
}
