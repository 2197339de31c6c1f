import { ApiPropertyOptional, ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  IsUUID,
  Length,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateBy,
} from 'class-validator';
import { LETTER_STATUSES, REASONS, type LetterFilter, type LetterStatus, type Reason } from '#dlq-client';

/** Digits only: `1e9`, ` 7` and arrays stay what they are and fail the check. */
export const ToInteger = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
  );

export const MAX_PAGE = 200;

export class PageQuery {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsString()
  @MaxLength(400)
  cursor?: string;

  @ApiPropertyOptional({ default: 50, maximum: MAX_PAGE })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(1)
  @Max(MAX_PAGE)
  limit?: number;
}

export const pageSize = ({ limit }: PageQuery): number => limit ?? 50;

const Short = (): PropertyDecorator => (target, property) => {
  IsOptional()(target, property);
  IsString()(target, property);
  Length(1, 512)(target, property);
};

/** Which letters; `payload.<path>=<value>` may be given besides. */
export class LetterFilterDto implements Omit<LetterFilter, 'payload'> {
  @ApiPropertyOptional({ description: 'Origin queue.' }) @Short() queue?: string;
  @ApiPropertyOptional({ description: 'Job name.' }) @Short() name?: string;
  @ApiPropertyOptional({ description: 'Name of the error, such as TypeError.' }) @Short() error?: string;
  @ApiPropertyOptional({ description: 'Id of the group.' }) @Short() group?: string;
  @ApiPropertyOptional({ description: 'Id of the worker that failed last.' }) @Short() worker?: string;

  @ApiPropertyOptional({ description: 'Id of a bulk action: the letters that it has selected.' })
  @IsOptional()
  @IsUUID()
  action?: string;

  @ApiPropertyOptional({ enum: REASONS })
  @IsOptional()
  @IsIn(REASONS)
  reason?: Reason;

  @ApiPropertyOptional({ enum: LETTER_STATUSES })
  @IsOptional()
  @IsIn(LETTER_STATUSES)
  status?: LetterStatus;

  @ApiPropertyOptional({ description: 'Dead-lettered at or after, UTC milliseconds.' })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  from?: number;

  @ApiPropertyOptional({ description: 'Dead-lettered before, UTC milliseconds.' })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  until?: number;

  @ApiPropertyOptional({ description: 'Literal text in payload or error; operators only.', minLength: 3 })
  @IsOptional()
  @IsString()
  @MinLength(3)
  @MaxLength(200)
  text?: string;
}

export class LetterListQuery extends LetterFilterDto {
  @ApiPropertyOptional({ description: 'The `next` of the page before.' })
  @IsOptional()
  @IsString()
  @MaxLength(400)
  cursor?: string;

  @ApiPropertyOptional({ default: 50, maximum: MAX_PAGE })
  @IsOptional()
  @ToInteger()
  @IsInt()
  @Min(1)
  @Max(MAX_PAGE)
  limit?: number;
}

export class NoteDto {
  @ApiPropertyOptional({ description: 'Why; kept in history and audit log.', maxLength: 500 })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  note?: string;
}

function IsPlainObject(): PropertyDecorator {
  return ValidateBy({
    name: 'isPlainObject',
    validator: {
      validate: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
      defaultMessage: () => '$property must be a JSON object',
    },
  });
}

export class PayloadEditDto extends NoteDto {
  @ApiProperty({ type: Object, description: 'The whole new payload, a JSON object.' })
  @Transform(({ obj }: { obj: { payload?: unknown } }) => obj.payload)
  @IsPlainObject()
  payload!: Record<string, unknown>;
}
