import { Entity } from 'typeorm';
import { Int, KeyInt, Text } from './columns.js';

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
