import { Entity } from 'typeorm';
import { Id, Int, Text } from './columns.js';

/** A directory tree that is scanned, and the rules of what in it counts. */
@Entity('roots')
export class RootEntity {
  @Id() id!: number;
  @Text() path!: string;
  /** Base64 of the path's bytes when they are not UTF-8. */
  @Text({ nullable: true }) pathBytes!: string | null;
  /** `pathKey` of the bytes: unique at any length and in any encoding. */
  @Text() pathKey!: string;
  /** JSON as it was written: scans under the same text look for the same. */
  @Text({ default: '{}' }) rules!: string;
  @Int() createdAt!: number;
}
