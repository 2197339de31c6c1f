import { Entity } from 'typeorm';
import { Id, Int, Json, Text } from './columns.js';

/** A directory tree that is scanned, and the rules of what in it counts. */
@Entity('roots')
export class RootEntity {
  @Id() id!: number;
  @Text() path!: string;
  /** Base64 of the path's bytes when they are not UTF-8. */
  @Text({ nullable: true }) pathBytes!: string | null;
  /** `pathKey` of the bytes: unique at any length and in any encoding. */
  @Text() pathKey!: string;
  @Json({ default: '{}' }) rules!: Record<string, unknown>;
  @Int() createdAt!: number;
}
