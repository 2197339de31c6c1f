import { Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsInt, Max, Min } from 'class-validator';
import { IsBoolean, IsIn, IsObject, IsString, Matches, ValidateNested } from 'class-validator';
import { BULK_KINDS, type BulkKind } from '#dlq-client';
import { between, NoteDto, Optional, Required } from '../http/field.js';
import { AsSent, LetterFilterDto } from '../letters/letter.dto.js';
import { DEFAULT_CANARY } from './canary.js';
import { CONFIRM_TOKEN } from './receipt.js';

const integers = (length: number, max: number): PropertyDecorator[] => [
  ...[IsArray(), ArrayMinSize(1), ArrayMaxSize(length)],
  ...[IsInt({ each: true }), Min(1, { each: true }), Max(max, { each: true })],
];

const nested = (type: () => new () => object) => [IsObject(), ValidateNested(), Type(type)];

class BulkFilterDto extends LetterFilterDto {
  @Optional({ type: Object, description: 'Payload fields by path: {"user.id": "7"}.' }, AsSent(), IsObject())
  payload?: Record<string, string>;
}

class CanaryDto {
  @Optional({ type: [Number], default: DEFAULT_CANARY.steps }, ...integers(50, 100_000))
  steps?: number[];

  @Optional({ default: 0, description: 'Failures in one step that are accepted.' }, ...between(0, 100_000))
  maxFailures?: number;
}

const isToken = Matches(CONFIRM_TOKEN, { message: 'take `confirm` from the dry run' });

export class BulkActionDto extends NoteDto {
  @Optional({ description: 'Only show what would happen.' }, IsBoolean())
  dryRun?: boolean;

  @Optional({ description: 'From the dry run; needed with a filter.' }, IsString(), isToken)
  confirm?: string;

  @Optional({ description: 'At most so many letters a second.' }, ...between(1, 100_000))
  ratePerSecond?: number;

  @Optional(
    { type: CanaryDto, description: 'Small steps first; stops when what was requeued fails again.' },
    ...nested(() => CanaryDto),
  )
  canary?: CanaryDto;

  @Required({ enum: BULK_KINDS }, IsIn(BULK_KINDS))
  kind!: BulkKind;

  @Optional({ type: [Number], maxItems: 1_000 }, ...integers(1_000, Number.MAX_SAFE_INTEGER))
  ids?: number[];

  @Optional({ type: BulkFilterDto }, ...nested(() => BulkFilterDto))
  filter?: BulkFilterDto;
}
