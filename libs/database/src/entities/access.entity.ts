import { Entity } from 'typeorm';
import { Int, Json, KeyInt, KeyText, Text } from './columns.js';

/** A key to dlq-admin: role, queues, expiry. Only the hash is stored; the key is shown once. */
@Entity('api_keys')
export class ApiKeyEntity {
  /** The public part that prefixes the key. */
  @KeyText() id!: string;
  @Text() name!: string;
  @Text() role!: 'viewer' | 'operator' | 'admin';
  /** Only read where it is asked for by name. */
  @Text({ select: false }) keyHash!: string;
  /** The queues it may see; null for all. */
  @Json({ nullable: true }) queues!: string[] | null;
  @Text() createdBy!: string;
  @Int() createdAt!: number;
  @Int({ nullable: true }) expiresAt!: number | null;
  @Int({ nullable: true }) revokedAt!: number | null;
  @Int({ nullable: true }) lastUsedAt!: number | null;
  /** The key it rotates out; both work until that one expires. */
  @Text({ nullable: true }) replaces!: string | null;
}

/** A signed-in browser: hashes of its cookie and of its CSRF token. */
@Entity('sessions')
export class SessionEntity {
  @KeyText() idHash!: string;
  @Text() keyId!: string;
  @Text() csrfHash!: string;
  @Int() createdAt!: number;
  @Int() expiresAt!: number;
}

/** The answer given to a mutation, so that the same request sent again has no second effect. */
@Entity('idempotency_keys')
export class IdempotencyKeyEntity {
  @KeyText() owner!: string;
  @KeyText() key!: string;
  @Text() requestHash!: string;
  @Int({ nullable: true }) status!: number | null;
  @Text({ nullable: true }) response!: string | null;
  @Int() createdAt!: number;
}

/** A secret that all replicas of an app share. */
@Entity('shared_secrets')
export class SharedSecretEntity {
  @KeyText() name!: string;
  @Text() value!: string;
  @Int() createdAt!: number;
}

/** Who did what, when, on what; each row carries the hash of the one before, so that no row can be changed or cut out. */
@Entity('audit_log')
export class AuditEntryEntity {
  @KeyInt() id!: number;
  @Int() at!: number;
  @Text() actor!: string;
  @Text({ nullable: true }) role!: string | null;
  @Text({ nullable: true }) keyId!: string | null;
  @Text({ nullable: true }) ip!: string | null;
  @Text() action!: string;
  @Text({ nullable: true }) target!: string | null;
  /** JSON text, kept as it was hashed. */
  @Text({ nullable: true }) before!: string | null;
  @Text({ nullable: true }) after!: string | null;
  @Text() result!: string;
  @Text({ nullable: true }) reason!: string | null;
  @Text() previousHash!: string;
  @Text() hash!: string;
}
