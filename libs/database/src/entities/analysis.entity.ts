import { Entity } from 'typeorm';
import { Int, Json, KeyInt, Text } from './columns.js';

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
