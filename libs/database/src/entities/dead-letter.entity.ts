import { Entity } from 'typeorm';
import { Id, Int, Json, Text } from './columns.js';

export type DeadLetterStatus = 'open' | 'requeued' | 'discarded';

/** A job that failed for good, with all that is needed to understand and repeat it. One row a job, however often it fails. */
@Entity('dead_letters')
export class DeadLetterEntity {
  @Id() id!: number;
  @Text() queue!: string;
  @Text() jobId!: string;
  @Text() name!: string;
  @Json() payload!: unknown;
  /** Where secrets were masked before storing; such a payload is edited before it can be requeued. */
  @Json({ default: '[]' }) redactedPaths!: string[];
  @Json({ default: '{}' }) options!: Record<string, unknown>;
  @Text() reason!: 'error' | 'stalled' | 'crash' | 'invalid';
  @Text() errorName!: string;
  @Text() errorMessage!: string;
  /** Large; lists leave it out. */
  @Text() stack!: string;
  @Text() fingerprint!: string;
  @Int() attemptsMade!: number;
  @Json({ default: '[]' }) attempts!: { attempt: number; error: string; at?: number }[];
  @Text() lastWorkerId!: string;
  @Int() enqueuedAt!: number;
  @Int() failedAt!: number;
  @Int() deadLetteredAt!: number;
  @Text({ default: 'open' }) status!: DeadLetterStatus;
  @Int({ default: 0 }) replayCount!: number;
  @Int({ nullable: true }) replayedAt!: number | null;
  /** The job id of the last redrive: what fails again under it reopens this letter. */
  @Text({ nullable: true }) replayJobId!: string | null;
  @Text({ nullable: true }) note!: string | null;
  /** Grows with every change; edits are conditional on it. */
  @Int({ default: 1 }) version!: number;
  @Text({ nullable: true }) trace!: string | null;
  /** When, while requeued, its job succeeded, and which: a batch's or a job's id. */
  @Int({ nullable: true }) resolvedAt!: number | null;
  @Text({ nullable: true }) resolvedBy!: string | null;
}
