import { Entity } from 'typeorm';
import { Int, Json, KeyInt, KeyText, Text } from './columns.js';

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

/** A part of a file revision in its one batch. The primary key refuses a second batch for the same part. */
@Entity('batch_items')
export class BatchItemEntity {
  @KeyInt() fileId!: number;
  @KeyInt() revision!: number;
  /** Counted from 1. */
  @KeyInt() part!: number;
  @Int() parts!: number;
  @Text() batchId!: string;
  /** The part's bytes: from `byteStart` up to, not including, `byteEnd`. */
  @Int() byteStart!: number;
  @Int() byteEnd!: number;
  @Int() tokens!: number;
  /** sha256 of these bytes as they were counted. */
  @Text() contentHash!: string;
}

/** What became of a part of a file revision: delivered, or found stale because the file had changed. */
@Entity('analyses')
export class AnalysisEntity {
  @KeyInt() fileId!: number;
  @KeyInt() revision!: number;
  @KeyInt() part!: number;
  @Text() batchId!: string;
  @Text() outcome!: 'delivered' | 'stale';
  /** Why it was stale. */
  @Json({ nullable: true }) result!: unknown;
  @Int() analyzedAt!: number;
}

/** Cache: how many tokens a content has for a tokenizer, so that the same content is counted once. */
@Entity('token_counts')
export class TokenCountEntity {
  @KeyText() contentHash!: string;
  /** Name and version of what counted. */
  @KeyText() tokenizer!: string;
  @Int() tokens!: number;
  @Int() countedAt!: number;
}
