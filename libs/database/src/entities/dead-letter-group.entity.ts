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
  @Text({ nullable: true }) note!: string | null;
  @Text({ nullable: true }) owner!: string | null;
  /** Until then its letters raise no alert. */
  @Int({ nullable: true }) mutedUntil!: number | null;
  /** The cause that this one was found to be the same as; new letters go there. */
  @Text({ nullable: true }) mergedInto!: string | null;
  /** What tells its letters apart, such as `queue` or `payload.user.id`: each value has a group of its own. */
  @Text({ nullable: true }) splitBy!: string | null;
  /** The newest real message; `message` is the pattern of all of them. */
  @Text({ nullable: true }) newest!: string | null;
}
