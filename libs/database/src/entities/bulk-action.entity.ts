import { Entity } from 'typeorm';
import { Flag, Int, Json, KeyInt, KeyText, Text } from './columns.js';

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
