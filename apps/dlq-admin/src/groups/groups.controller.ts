import { Body, Controller, Param, Patch, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Changes, Reads } from '../http/route.js';
import type { Group, Page } from '#dlq-client';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { Asked, type AskedBy } from '../http/query.js';
import { decodeCursor } from '../letters/cursor.js';
import { pageSize } from '../letters/letter.dto.js';
import { GroupChangeDto, GroupListQuery, MergeDto, SplitDto } from './group.dto.js';
import { GroupsRepository } from './groups.repository.js';
import { Groups } from './groups.service.js';

@ApiTags('groups')
@Controller('api/v1/groups')
export class GroupsController {
  constructor(
    private readonly repository: GroupsRepository,
    private readonly groups: Groups,
  ) {}

  @Reads('', 'viewer', 'List causes of failure, the largest first.')
  list(@CurrentCaller() caller: Caller, @Query() query: GroupListQuery): Promise<Page<Group>> {
    return this.repository.list(caller.queues, {
      after: decodeCursor(query.cursor, 'string'),
      limit: pageSize(query),
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
