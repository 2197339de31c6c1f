import { Entity } from 'typeorm';
import { Flag, Id, Int, Json, KeyInt, KeyText, Text } from './columns.js';

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

/** One cause of failures: the letters of one fingerprint, counted where they are written so that no list has to count. */
@Entity('dead_letter_groups')
export class DeadLetterGroupEntity {
  @KeyText() fingerprint!: string;
  @Text() errorName!: string;
  @Text() message!: string;
  @Text() frame!: string;
  @Int() firstSeenAt!: number;
  @Int() lastSeenAt!: number;
  @Int() total!: number;
  @Int() open!: number;
  @Text({ nullable: true }) note!: string | null;
  @Text({ nullable: true }) owner!: string | null;
  /** Until then its letters raise no alert. */
  @Int({ nullable: true }) mutedUntil!: number | null;
  /** The cause that this one was found to be the same as; new letters go there. */
  @Text({ nullable: true }) mergedInto!: string | null;
  /** What tells its letters apart, such as `queue` or `payload.user.id`: each value has a group of its own. */
  @Text({ nullable: true }) splitBy!: string | null;
  /** The newest real message; `message` is the pattern of all of them. */
  @Text({ nullable: true }) newest!: string | null;
}

/** What happened to a letter, in order: dead-lettered, edited (with the payload before), requeued, reopened, discarded. */
@Entity('dead_letter_history')
export class DeadLetterHistoryEntity {
  @Id() id!: number;
  @Int() letterId!: number;
  @Int() at!: number;
  @Text() actor!: string;
  @Text() event!: string;
  @Json({ default: '{}' }) details!: Record<string, unknown>;
}

/** How many letters of one cause came from one queue and worker, counted where they are written. */
@Entity('dead_letter_tallies')
export class DeadLetterTallyEntity {
  @KeyText() fingerprint!: string;
  @KeyText() queue!: string;
  @KeyText() worker!: string;
  @Int() total!: number;
  @Int() open!: number;
  @Int() lastSeenAt!: number;
}

/** How many letters of one cause came from one queue in an hour since 1970; of the last day only. */
@Entity('dead_letter_hours')
export class DeadLetterHourEntity {
  @KeyText() fingerprint!: string;
  @KeyText() queue!: string;
  @KeyInt() hour!: number;
  @Int() arrived!: number;
}

/** What a text search looks at: a letter's job id, name, error and payload, in lower case, cut. */
@Entity('dead_letter_texts')
export class DeadLetterTextEntity {
  @KeyInt() letterId!: number;
  @Text() text!: string;
}

/** Open dead letters of a queue over time, for the plot and the arrival rate. */
@Entity('depth_samples')
export class DepthSampleEntity {
  @KeyText() queue!: string;
  @KeyInt() at!: number;
  @Int() depth!: number;
  @Int() arrivals!: number;
  @Int() oldestAgeMs!: number;
}

/** Whether an alert rule fires, shared by all replicas so that each change is told once. */
@Entity('alert_states')
export class AlertStateEntity {
  @KeyText() rule!: string;
  @Text() state!: 'ok' | 'firing';
  @Int() value!: number;
  @Int() since!: number;
  @Int({ nullable: true }) notifiedAt!: number | null;
  /** Who looks after it, since when; empty again when it resolves. */
  @Text({ nullable: true }) acknowledgedBy!: string | null;
  @Int({ nullable: true }) acknowledgedAt!: number | null;
}

/** A change to many letters that runs in the background: frozen selection, rate, canary steps, progress, lease of its runner. */
@Entity('bulk_actions')
export class BulkActionEntity {
  @KeyText() id!: string;
  @Text() kind!: 'requeue' | 'discard' | 'restore';
  @Text() status!: 'frozen' | 'running' | 'completed' | 'aborted' | 'stopped';
  @Json() selection!: Record<string, unknown>;
  @Flag() dryRun!: boolean;
  @Int({ nullable: true }) ratePerSecond!: number | null;
  @Json({ nullable: true }) canary!: Record<string, unknown> | null;
  @Int({ default: 0 }) total!: number;
  @Int({ default: 0 }) done!: number;
  @Int({ default: 0 }) skipped!: number;
  @Int({ default: 0 }) failedAgain!: number;
  @Text({ nullable: true }) reason!: string | null;
  @Text() createdBy!: string;
  @Int() createdAt!: number;
  @Int({ nullable: true }) finishedAt!: number | null;
  @Text({ nullable: true }) claimedBy!: string | null;
  @Int({ default: 0 }) claimedUntil!: number;
  @Int({ nullable: true }) approveBefore!: number | null;
  @Text({ nullable: true }) approvedBy!: string | null;
  @Text({ nullable: true }) createdKey!: string | null;
}

/** One letter of a bulk action's frozen selection and what was done with it. */
@Entity('bulk_action_items')
export class BulkActionItemEntity {
  @KeyText() actionId!: string;
  @KeyInt() position!: number;
  @Int() letterId!: number;
  @Text({ default: 'waiting' }) state!: 'waiting' | 'done' | 'skipped' | 'failed-again';
  /** The canary step it belonged to. */
  @Int({ default: 0 }) step!: number;
  @Text({ nullable: true }) error!: string | null;
}
