import { Body, Inject, Param, Patch, Query } from '@nestjs/common';
import { IsIn, IsInt, IsString, Matches, MaxLength, Min } from 'class-validator';
import { DeadLetterGroupEntity, type EntityManager } from '#database';
import type { Group, GroupChange, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { Mutations, type Outcome } from '../audit/mutations.service.js';
import { decodeCursor, NoteDto, Optional, PageQuery, Required } from '../http/field.js';
import { forbidden, invalidField, notFound } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Changes, Reads, Routes } from '../http/route.js';
import { SPLIT_FIELDS } from '../ingest/letter-groups.repository.js';
import { GroupsRepository } from './groups.repository.js';
import { mergeGroups, splitGroup } from './regroup.js';

const MAX_MUTE_MS = 30 * 86_400_000;
const FOR_ALL_QUEUES = 'a group has letters of any queue; this key is for some queues only';

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

/** What can be done with a cause. It concerns letters of any queue, so a key for some queues may only look. */
@Routes('groups')
export class GroupsController {
  constructor(
    private readonly repository: GroupsRepository,
    private readonly mutations: Mutations,
    @Inject(CLOCK) private readonly clock: Clock,
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
  async show(@CurrentCaller() { queues }: Caller, @Param('id') id: string): Promise<Group> {
    const group = await this.repository.find(id, queues);
    if (!group) throw notFound('group');
    return group;
  }

  @Changes(':id', 'operator', 'Leave a note or an owner on a cause, or mute its alerts.', 200, Patch)
  change(@Asked() asked: AskedBy, @Param('id') id: string, @Body() body: GroupChangeDto): Promise<Group> {
    const { note, owner, mutedUntil } = body;
    const change = { note, owner, mutedUntil };
    return this.perform(id, asked, 'change', change, async (tx, before) => {
      const now = this.clock.now();
      if (mutedUntil && (mutedUntil <= now || mutedUntil > now + MAX_MUTE_MS))
        throw invalidField('mutedUntil', 'a time to come, at most 30 days ahead');
      if (Object.values(change).some((value) => value !== undefined))
        await tx.update(DeadLetterGroupEntity, id, change);
      const left = { note: before.note, owner: before.owner, mutedUntil: before.mutedUntil };
      return { answer: await this.show(asked.caller, id), before: left, after: change };
    });
  }

  @Changes(':id/merge', 'operator', 'Make two causes one: letters of this go, and will go, to the other.')
  merge(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { into, note }: MergeDto): Promise<Group> {
    return this.perform(id, { ...asked, note }, 'merge', { into }, async (tx, { total }) => {
      await this.show(asked.caller, into);
      if (into === id) throw invalidField('into', 'another group than this one');
      await mergeGroups(tx, id, into);
      return { answer: await this.show(asked.caller, into), before: { total }, after: { into } };
    });
  }

  @Changes(':id/split', 'operator', 'Split a cause: a group for each value of a field, 50 at most.')
  split(@Asked() asked: AskedBy, @Param('id') id: string, @Body() body: SplitDto): Promise<Page<Group>> {
    const { field, note } = body;
    return this.perform(id, { ...asked, note }, 'split', { field }, async (tx, group) => {
      const parts = await splitGroup(tx, group, field);
      const items = await Promise.all(parts.map((part) => this.show(asked.caller, part)));
      return { answer: { items, next: null }, before: { total: group.total }, after: { field, parts } };
    });
  }

  private perform<T>(
    id: string,
    asked: AskedBy,
    what: string,
    request: object,
    run: (tx: EntityManager, group: Group) => Promise<Outcome<T>>,
  ): Promise<T> {
    const mutation = { ...asked, action: `group.${what}`, target: `group:${id.slice(0, 64)}`, request };
    return this.mutations.perform(mutation, async (tx) => {
      const group = await this.show(asked.caller, id);
      if (asked.caller.queues) throw forbidden('QUEUES', FOR_ALL_QUEUES);
      return run(tx, group);
    });
  }
}
