import { Body, Param, Patch, Query } from '@nestjs/common';
import { IsIn, IsInt, IsString, Matches, MaxLength, Min } from 'class-validator';
import type { Group, GroupChange, Page } from '#dlq-client';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { decodeCursor, NoteDto, Optional, PageQuery, Required } from '../http/field.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Changes, Reads, Routes } from '../http/route.js';
import { SPLIT_FIELDS } from '../ingest/letter-groups.repository.js';
import { GroupsRepository } from './groups.repository.js';
import { GroupsService } from './groups.service.js';

class GroupListQuery extends PageQuery {
  @Optional({ enum: ['open', 'any'], default: 'open' }, IsIn(['open', 'any']))
  status?: 'open' | 'any';
}

const NullableText = (maxLength: number, description?: string): PropertyDecorator =>
  Optional({ type: String, nullable: true, maxLength, description }, IsString(), MaxLength(maxLength));

/** What people leave on a group: null takes it off, what is not given stays. */
class GroupChangeDto implements GroupChange {
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

const isGroup = Matches(/^[0-9a-z]{1,64}$/, { message: 'into: the id of a group' });

class MergeDto extends NoteDto {
  @Required({ description: 'The group that its letters go to.' }, isGroup) into!: string;
}

const FIELDS = SPLIT_FIELDS.join(', ');
const isField = Matches(new RegExp(`^(?:${SPLIT_FIELDS.join('|')}|payload\\.[^\\s"\\\\]{1,200})$`), {
  message: `field: one of ${FIELDS}, or payload.<path>`,
});

class SplitDto extends NoteDto {
  @Required({ description: `One of ${FIELDS}, or \`payload.<path>\`.`, example: 'queue' }, isField)
  field!: string;
}

@Routes('groups')
export class GroupsController {
  constructor(
    private readonly repository: GroupsRepository,
    private readonly groups: GroupsService,
  ) {}

  @Reads('', 'viewer', 'List causes of failure, the largest first.')
  list(@CurrentCaller() caller: Caller, @Query() query: GroupListQuery): Promise<Page<Group>> {
    return this.repository.list(caller.queues, {
      after: decodeCursor(query.cursor, 'string'),
      limit: query.limit,
      openOnly: query.status !== 'any',
    });
  }

  @Reads(':id', 'viewer', 'Show one cause: counts, queues, workers, first and last seen.')
  show(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Group> {
    return this.groups.show(caller, id);
  }

  @Changes(':id', 'operator', 'Leave a note or an owner on a cause, or mute its alerts.', 200, Patch)
  change(@Asked() asked: AskedBy, @Param('id') id: string, @Body() body: GroupChangeDto): Promise<Group> {
    return this.groups.change(id, asked, body);
  }

  @Changes(':id/merge', 'operator', 'Make two causes one: letters of this go, and will go, to the other.')
  merge(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { into, note }: MergeDto): Promise<Group> {
    return this.groups.merge(id, { ...asked, note }, into);
  }

  @Changes(':id/split', 'operator', 'Split a cause: a group for each value of a field, 50 at most.')
  split(@Asked() asked: AskedBy, @Param('id') id: string, @Body() body: SplitDto): Promise<Page<Group>> {
    return this.groups.split(id, { ...asked, note: body.note }, body.field);
  }
}
