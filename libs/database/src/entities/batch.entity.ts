import { Entity } from 'typeorm';
import { Int, Json, KeyText, Text } from './columns.js';

/** Files packed together within a token budget; committed with its items and its event in one transaction. */
@Entity('batches')
export class BatchEntity {
  @KeyText() id!: string;
  @Int() totalTokens!: number;
  /** The budget it was packed for; the table refuses a batch above it. */
  @Int() maxTokens!: number;
  @Int() itemCount!: number;
  @Text() createdBy!: string;
  @Int() createdAt!: number;
  @Int({ nullable: true }) publishedAt!: number | null;
  @Int({ nullable: true }) completedAt!: number | null;
  /** What the destination said to it; whole, or as much as is kept. */
  @Json({ nullable: true }) answer!: unknown;
}
