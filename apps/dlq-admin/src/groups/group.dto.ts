import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsOptional, IsString, Matches, MaxLength, Min } from 'class-validator';
import { SPLIT_FIELDS } from '../ingest/placement.js';
import { NoteDto, PageQuery } from '../letters/letter.dto.js';

export class GroupListQuery extends PageQuery {
  @ApiPropertyOptional({ enum: ['open', 'any'], default: 'open' })
  @IsOptional()
  @IsIn(['open', 'any'])
  status?: 'open' | 'any';
}

/** What people leave on a group: null takes it off, what is not given stays. */
export class GroupChangeDto {
  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 2_000 })
  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  note?: string | null;

  @ApiPropertyOptional({ type: String, nullable: true, maxLength: 100, description: 'Who looks after it.' })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  owner?: string | null;

  @ApiPropertyOptional({
    ...{ type: 'integer', nullable: true },
    description: 'Until then its letters raise no alert; UTC milliseconds, at most 30 days ahead.',
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  mutedUntil?: number | null;
}

export class MergeDto extends NoteDto {
  @ApiProperty({ description: 'The group that its letters go to.' })
  @IsString()
  @Matches(/^[0-9a-z]{1,64}$/, { message: 'into: the id of a group' })
  into!: string;
}

export class SplitDto extends NoteDto {
  @ApiProperty({ description: `One of ${SPLIT_FIELDS.join(', ')}, or \`payload.<path>\`.`, example: 'queue' })
  @IsString()
  @Matches(new RegExp(`^(?:${SPLIT_FIELDS.join('|')}|payload\\.[^\\s"\\\\]{1,200})$`), {
    message: `field: one of ${SPLIT_FIELDS.join(', ')}, or payload.<path>`,
  })
  field!: string;
}
