import { Entity } from 'typeorm';
import { Int, KeyInt, Text } from './columns.js';

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
