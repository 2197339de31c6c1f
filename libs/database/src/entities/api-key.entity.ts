import { Entity } from 'typeorm';
import { Int, Json, KeyText, Text } from './columns.js';

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
