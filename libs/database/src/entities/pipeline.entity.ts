import { Entity } from 'typeorm';
import { Int, KeyInt, Text } from './columns.js';

/** Whose work the tables hold and where it goes: one row, of which `onlyRow` is 1. */
@Entity('pipeline')
export class PipelineEntity {
  @KeyInt() onlyRow!: number;
  @Text() id!: string;
  /** Null, like the other two, until a process that knows the destination was started on the database. */
  @Text({ nullable: true }) sink!: 'write' | 'http' | null;
  @Text({ nullable: true }) address!: string | null;
  @Text({ nullable: true }) format!: string | null;
  @Int() createdAt!: number;
}
