import { Entity } from 'typeorm';
import { KeyInt, Text } from './columns.js';

/** What a text search looks at: a letter's job id, name, error and payload, in lower case, cut. */
@Entity('dead_letter_texts')
export class DeadLetterTextEntity {
  @KeyInt() letterId!: number;
  @Text() text!: string;
}
