import { Body, Param, Query } from '@nestjs/common';
import { Changes, Reads, Routes } from '../http/route.js';
import type { DeadEvent, Page } from '#dlq-client';
import { DeadEvents, type DeadEvent as StoredEvent } from '#outbox';
import { redactText } from '#service';
import { CurrentCaller, mayAct, sees, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { decodeCursor, NoteDto, Optional, pageOf, PageQuery, text } from '../http/field.js';
import { notFound } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { maskSecrets } from '../ingest/mask.js';

class EventListQuery extends PageQuery {
  @Optional({ description: 'Queue that the event was for.' }, ...text(1, 512)) queue?: string;
}

@Routes('dead events')
export class EventsController {
  constructor(
    private readonly events: DeadEvents,
    private readonly mutations: Mutations,
  ) {}

  @Reads('', 'viewer', 'List outbox events that could not be published, oldest first.')
  async list(@CurrentCaller() caller: Caller, @Query() query: EventListQuery): Promise<Page<DeadEvent>> {
    const { cursor, limit, queue: asked } = query;
    const after = decodeCursor(cursor, 'string');
    const rows = await this.events.list({
      limit: limit + 1,
      queue: asked,
      ...(after && { after: { createdAt: after.at, id: String(after.id) } }),
    });
    const { items, next } = pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    const visible = items.filter(({ queue }) => sees(caller, queue));
    return { items: visible.map((row) => viewOf(row, caller)), next };
  }

  @Changes(':id/revive', 'operator', 'Offer a dead event to the publishers again, with all its attempts.')
  async revive(
    @Asked() asked: AskedBy,
    @Param('id') id: string,
    @Body() { note }: NoteDto,
  ): Promise<{ id: string; revived: boolean }> {
    const mutation = { ...asked, note, action: 'event.revive', target: `event:${id.slice(0, 128)}` };
    return this.mutations.perform(mutation, async (tx) => {
      const event = await this.events.get(tx, id);
      if (!event || !sees(asked.caller, event.queue)) throw notFound('dead event');
      await this.events.requeue(tx, [id]);
      const before = { status: 'DEAD', attempts: event.attempts };
      return { answer: { id, revived: true }, before, after: { status: 'PENDING' } };
    });
  }
}

function viewOf(event: StoredEvent, caller: Caller): DeadEvent {
  const { id, queue, eventName, attempts, createdAt, lastError } = event;
  return {
    ...{ id, queue, eventName, attempts, createdAt, lastError: lastError && redactText(lastError) },
    payload: mayAct(caller, 'operator') ? readable(event.payload) : null,
  };
}

function readable(payload: string): unknown {
  try {
    return maskSecrets(JSON.parse(payload)).value;
  } catch {
    return { unreadable: redactText(payload.slice(0, 2_000)) };
  }
}
