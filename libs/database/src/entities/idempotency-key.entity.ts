import { Entity } from 'typeorm';
import { Int, KeyText, Text } from './columns.js';

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
