import { Entity } from 'typeorm';
import { Int, KeyText } from './columns.js';

/** "This consumer has had this event": written with the effect, so the effect happens once. */
@Entity('inbox')
export class InboxEntryEntity {
  @KeyText() consumer!: string;
  @KeyText() eventId!: string;
  @Int() receivedAt!: number;
}
