import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterGroupEntity, type EntityManager } from '#database';
import type { Group, GroupChange, Page } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import type { Caller } from '../access/caller.js';
import { Mutations, type Outcome } from '../audit/mutations.service.js';
import { forbidden, invalidField, notFound } from '../http/problems.js';
import type { AskedBy } from '../http/query.js';
import { GroupsRepository } from './groups.repository.js';
import { mergeGroups, splitGroup } from './regroup.js';

const MAX_MUTE_MS = 30 * 86_400_000;
const FOR_ALL_QUEUES = 'a group has letters of any queue; this key is for some queues only';

/** What can be done with a cause. It concerns letters of any queue, so a key for some queues may only look. */
@Injectable()
export class GroupsService {
  constructor(
    private readonly repository: GroupsRepository,
    private readonly mutations: Mutations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async show({ queues }: Caller, id: string): Promise<Group> {
    const group = await this.repository.find(id, queues);
    if (!group) throw notFound('group');
    return group;
  }

  change(id: string, asked: AskedBy, { note, owner, mutedUntil }: GroupChange): Promise<Group> {
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

  merge(id: string, asked: AskedBy, into: string): Promise<Group> {
    return this.perform(id, asked, 'merge', { into }, async (tx, { total }) => {
      await this.show(asked.caller, into);
      if (into === id) throw invalidField('into', 'another group than this one');
      await mergeGroups(tx, id, into);
      return { answer: await this.show(asked.caller, into), before: { total }, after: { into } };
    });
  }

  split(id: string, asked: AskedBy, field: string): Promise<Page<Group>> {
    return this.perform(id, asked, 'split', { field }, async (tx, group) => {
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
