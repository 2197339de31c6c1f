import { Entity } from 'typeorm';
import { Int, KeyInt, KeyText, Text } from './columns.js';

/** One letter of a bulk action's frozen selection and what was done with it. */
@Entity('bulk_action_items')
export class BulkActionItemEntity {
  @KeyText() actionId!: string;
  @KeyInt() position!: number;
  @Int() letterId!: number;
  @Text({ default: 'waiting' }) state!: 'waiting' | 'done' | 'skipped' | 'failed-again';
  /** The canary step it belonged to. */
  @Int({ default: 0 }) step!: number;
  @Text({ nullable: true }) error!: string | null;
}
