import { Entity } from 'typeorm';
import { Int, KeyText, Text } from './columns.js';

/** A signed-in browser: hashes of its cookie and of its CSRF token. */
@Entity('sessions')
export class SessionEntity {
  @KeyText() idHash!: string;
  @Text() keyId!: string;
  @Text() csrfHash!: string;
  @Int() createdAt!: number;
  @Int() expiresAt!: number;
}
