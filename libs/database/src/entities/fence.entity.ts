import { Entity } from 'typeorm';
import { Int, KeyText } from './columns.js';

/** The last fence issued for a key; whoever carries an older one may write no more. */
@Entity('fences')
export class FenceEntity {
  @KeyText() key!: string;
  @Int() fence!: number;
}
