import { Entity } from 'typeorm';
import { Int, KeyInt, KeyText } from './columns.js';

/** How many letters of one cause came from one queue and worker, counted where they are written. */
@Entity('dead_letter_tallies')
export class DeadLetterTallyEntity {
  @KeyText() fingerprint!: string;
  @KeyText() queue!: string;
  @KeyText() worker!: string;
  @Int() total!: number;
  @Int() open!: number;
  @Int() lastSeenAt!: number;
}

/** How many letters of one cause came from one queue in an hour since 1970; of the last day only. */
@Entity('dead_letter_hours')
export class DeadLetterHourEntity {
  @KeyText() fingerprint!: string;
  @KeyText() queue!: string;
  @KeyInt() hour!: number;
  @Int() arrived!: number;
}
