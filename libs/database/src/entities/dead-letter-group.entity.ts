import { Entity } from 'typeorm';
import { Int, KeyText, Text } from './columns.js';

/** One cause of failures: the letters of one fingerprint, counted where they are written so that no list has to count. */
@Entity('dead_letter_groups')
export class DeadLetterGroupEntity {
  @KeyText() fingerprint!: string;
  @Text() errorName!: string;
  @Text() message!: string;
  @Text() frame!: string;
  @Int() firstSeenAt!: number;
  @Int() lastSeenAt!: number;
  @Int() total!: number;
  @Int() open!: number;
}
