import { IsIn, IsInt, IsString, Matches, MaxLength, Min } from 'class-validator';
import type { GroupChange } from '#dlq-client';
import { Optional, Required } from '../http/field.js';
import { SPLIT_FIELDS } from '../ingest/placement.js';
import { NoteDto, PageQuery } from '../letters/letter.dto.js';

export class GroupListQuery extends PageQuery {
  @Optional({ enum: ['open', 'any'], default: 'open' }, IsIn(['open', 'any']))
  status?: 'open' | 'any';
}

const NullableText = (maxLength: number, description?: string): PropertyDecorator =>
  Optional({ type: String, nullable: true, maxLength, description }, IsString(), MaxLength(maxLength));

/** What people leave on a group: null takes it off, what is not given stays. */
export class GroupChangeDto implements GroupChange {
  @NullableText(2_000) note?: string | null;
  @NullableText(100, 'Who looks after it.') owner?: string | null;
  @Optional(
    {
      type: 'integer',
      nullable: true,
      description: 'Until then its letters raise no alert; UTC milliseconds, at most 30 days ahead.',
    },
    IsInt(),
    Min(0),
  )
  mutedUntil?: number | null;
}

export class MergeDto extends NoteDto {
  @Required(
    { description: 'The group that its letters go to.' },
    IsString(),
    Matches(/^[0-9a-z]{1,64}$/, { message: 'into: the id of a group' }),
  )
  into!: string;
}

const FIELDS = SPLIT_FIELDS.join(', ');

export class SplitDto extends NoteDto {
  @Required(
    { description: `One of ${FIELDS}, or \`payload.<path>\`.`, example: 'queue' },
    IsString(),
    Matches(new RegExp(`^(?:${SPLIT_FIELDS.join('|')}|payload\\.[^\\s"\\\\]{1,200})$`), {
      message: `field: one of ${FIELDS}, or payload.<path>`,
    }),
  )
  field!: string;
}
