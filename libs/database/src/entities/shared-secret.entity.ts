import { Entity } from 'typeorm';
import { Int, KeyText, Text } from './columns.js';

/** A secret that all replicas of an app share. */
@Entity('shared_secrets')
export class SharedSecretEntity {
  @KeyText() name!: string;
  @Text() value!: string;
  @Int() createdAt!: number;
}
