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
}
