import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { BULK_KINDS, type BulkKind } from '#dlq-client';
import { LetterFilterDto, NoteDto } from '../letters/letter.dto.js';
import { DEFAULT_CANARY } from './canary.js';

export class BulkFilterDto extends LetterFilterDto {
  @ApiPropertyOptional({ type: Object, description: 'Payload fields by path: {"user.id": "7"}.' })
  @IsOptional()
  @Transform(({ obj }: { obj: { payload?: unknown } }) => obj.payload)
  @IsObject()
  payload?: Record<string, string>;
}

export class CanaryDto {
  @ApiPropertyOptional({ type: [Number], default: DEFAULT_CANARY.steps })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(50)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(100_000, { each: true })
  steps?: number[];

  @ApiPropertyOptional({ default: 0, description: 'Failures again in one step that are still accepted.' })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(100_000)
  maxFailures?: number;
}

export class BulkActionDto extends NoteDto {
  @ApiPropertyOptional({ description: 'Only show what would happen.' })
  @IsOptional()
  @IsBoolean()
  dryRun?: boolean;

  @ApiPropertyOptional({ description: 'From the dry run; needed with a filter.' })
  @IsOptional()
  @IsString()
  @Matches(/^\d{1,15}\.\d{1,15}\.[0-9a-f]{64}$/, { message: 'take `confirm` from the dry run' })
  confirm?: string;

  @ApiPropertyOptional({ description: 'At most so many letters a second.' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(100_000)
  ratePerSecond?: number;

  @ApiPropertyOptional({
    type: CanaryDto,
    description: 'Small steps first; stops when what was requeued fails again.',
  })
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => CanaryDto)
  canary?: CanaryDto;

  @ApiProperty({ enum: BULK_KINDS })
  @IsIn(BULK_KINDS)
  kind!: BulkKind;

  @ApiPropertyOptional({ type: [Number], maxItems: 1_000 })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1_000)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(Number.MAX_SAFE_INTEGER, { each: true })
  ids?: number[];

  @ApiPropertyOptional({ type: BulkFilterDto })
  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => BulkFilterDto)
  filter?: BulkFilterDto;
}
