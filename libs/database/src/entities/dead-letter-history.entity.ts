import { Entity } from 'typeorm';
import { Id, Int, Json, Text } from './columns.js';

/** What happened to a letter, in order: dead-lettered, edited (with the payload before), requeued, reopened, discarded. */
@Entity('dead_letter_history')
export class DeadLetterHistoryEntity {
  @Id() id!: number;
  @Int() letterId!: number;
  @Int() at!: number;
  @Text() actor!: string;
  @Text() event!: string;
  @Json({ default: '{}' }) details!: Record<string, unknown>;
}
