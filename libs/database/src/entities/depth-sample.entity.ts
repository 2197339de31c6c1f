import { Entity } from 'typeorm';
import { Int, KeyInt, KeyText } from './columns.js';

/** Open dead letters of a queue over time, for the plot and the arrival rate. */
@Entity('depth_samples')
export class DepthSampleEntity {
  @KeyText() queue!: string;
  @KeyInt() at!: number;
  @Int() depth!: number;
  @Int() arrivals!: number;
  @Int() oldestAgeMs!: number;
}
