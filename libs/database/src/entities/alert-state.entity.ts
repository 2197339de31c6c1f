import { Entity } from 'typeorm';
import { Int, KeyText, Text } from './columns.js';

/** Whether an alert rule fires, shared by all replicas so that each change is told once. */
@Entity('alert_states')
export class AlertStateEntity {
  @KeyText() rule!: string;
  @Text() state!: 'ok' | 'firing';
  @Int() value!: number;
  @Int() since!: number;
  @Int({ nullable: true }) notifiedAt!: number | null;
  /** Who looks after it, since when; empty again when it resolves. */
  @Text({ nullable: true }) acknowledgedBy!: string | null;
  @Int({ nullable: true }) acknowledgedAt!: number | null;
}
