import { Entity } from 'typeorm';
import { Int, Json, KeyInt, KeyText, Text } from './columns.js';

export type OutboxStatus = 'PENDING' | 'PUBLISHED' | 'DEAD';

/**
 * An event committed with what it tells of, to be published to a queue at least once under the same id.
 * PUBLISHED and not confirmed: a consumer's inbox has not seen it yet, so it may have to be published again. Events that
 * nobody confirms are marked confirmed when published.
 */
@Entity('outbox')
export class OutboxEventEntity {
  @KeyText() id!: string;
  @Text() queue!: string;
  @Text() eventName!: string;
  /** JSON as it is stored: an event may be dead because its payload cannot be read. */
  @Text() payload!: string;
  @Json({ nullable: true }) jobOptions!: Record<string, unknown> | null;
  /** Events of one key are published in order. */
  @Text({ nullable: true }) orderingKey!: string | null;
  @Text({ default: 'PENDING' }) status!: OutboxStatus;
  @Int() createdAt!: number;
  @Int() availableAt!: number;
  @Int({ default: 0 }) attempts!: number;
  @Text({ nullable: true }) claimedBy!: string | null;
  @Int({ default: 0 }) claimedUntil!: number;
  @Int({ nullable: true }) publishedAt!: number | null;
  @Int({ nullable: true }) confirmedAt!: number | null;
  /** How often it was published again because the broker had lost it. */
  @Int({ default: 0 }) republished!: number;
  @Text({ nullable: true }) lastError!: string | null;
  @Text({ nullable: true }) trace!: string | null;
}

/** "This consumer has had this event": written with the effect, so the effect happens once. */
@Entity('inbox')
export class InboxEntryEntity {
  @KeyText() consumer!: string;
  @KeyText() eventId!: string;
  @Int() receivedAt!: number;
}

/** The last fence issued for a key; whoever carries an older one may write no more. */
@Entity('fences')
export class FenceEntity {
  @KeyText() key!: string;
  @Int() fence!: number;
}

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
