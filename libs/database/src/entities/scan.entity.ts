import { Entity } from 'typeorm';
import { Id, Int, Json, Text } from './columns.js';

export type ScanMode = 'all' | 'files' | 'folders';
export type ScanOutcome = 'running' | 'completed' | 'interrupted' | 'refused' | 'failed';

/** One run of a producer over a root. Its fence guards every write of the run; its id marks what the run saw. */
@Entity('scans')
export class ScanEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Text() workerId!: string;
  @Int() fence!: number;
  @Text({ default: 'all' }) mode!: ScanMode;
  @Text({ default: 'running' }) outcome!: ScanOutcome;
  @Int() startedAt!: number;
  @Int({ nullable: true }) finishedAt!: number | null;
  @Json({ default: '{}' }) counters!: object;
  @Json({ nullable: true }) checkpoint!: unknown;
  @Text({ nullable: true }) error!: string | null;
}
