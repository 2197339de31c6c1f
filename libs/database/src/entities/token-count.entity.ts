import { Entity } from 'typeorm';
import { Int, KeyText } from './columns.js';

/** Cache: how many tokens a content has for a tokenizer, so that the same content is counted once. */
@Entity('token_counts')
export class TokenCountEntity {
  @KeyText() contentHash!: string;
  /** Name and version of what counted. */
  @KeyText() tokenizer!: string;
  @Int() tokens!: number;
  @Int() countedAt!: number;
}
