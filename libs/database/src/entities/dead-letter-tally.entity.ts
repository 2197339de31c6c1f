import { Entity } from 'typeorm';
import { Int, KeyText } from './columns.js';

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
