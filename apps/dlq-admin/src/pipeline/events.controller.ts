import { Body, Controller, Param, Query } from '@nestjs/common';
import { ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { Changes, Reads } from '../http/route.js';
import { IsOptional, IsString, Length } from 'class-validator';
import { Database } from '#database';
import type { DeadEvent, Page } from '#dlq-client';
import { DeadEvents, type DeadEvent as StoredEvent } from '#outbox';
import { redactText } from '#service';
import { CurrentCaller, mayAct, type Caller } from '../access/caller.js';
import { Mutations } from '../audit/mutations.service.js';
import { NotFoundProblem } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { maskSecrets } from '../ingest/mask.js';
import { decodeCursor, encodeCursor } from '../letters/cursor.js';
import { NoteDto, PageQuery, pageSize } from '../letters/letter.dto.js';

class EventListQuery extends PageQuery {
  @ApiPropertyOptional({ description: 'Queue that the event was for.' })
  @IsOptional()
  @IsString()
  @Length(1, 512)
  queue?: string;
}

@ApiTags('dead events')
@Controller('api/v1/dead-events')
export class EventsController {
  private readonly events: DeadEvents;

  constructor(
    database: Database,
    private readonly mutations: Mutations,
  ) {
    this.events = new DeadEvents(database);
  }

  @Reads('', 'viewer', 'List outbox events that could not be published, oldest first.')
  async list(@CurrentCaller() caller: Caller, @Query() query: EventListQuery): Promise<Page<DeadEvent>> {
    const after = decodeCursor(query.cursor, 'string');
    const limit = pageSize(query);
    const rows = await this.events.list({
      limit: limit + 1,
      queue: query.queue,
      ...(after && { after: { createdAt: after.at, id: String(after.id) } }),
    });
    const last = rows[limit - 1];
    const visible = rows.slice(0, limit).filter(({ queue }) => isVisible(caller, queue));
    return {
      items: visible.map((row) => viewOf(row, caller)),
      next: rows.length > limit && last ? encodeCursor({ at: last.createdAt, id: last.id }) : null,
    };
  }

  @Changes(':id/revive', 'operator', 'Offer a dead event to the publishers again, with all its attempts.')
  async revive(
    @Asked() asked: AskedBy,
    @Param('id') id: string,
    @Body() { note }: NoteDto,
  ): Promise<{ id: string; revived: boolean }> {
    return this.mutations.perform({
      ...{ ...asked, note, action: 'event.revive', target: `event:${id.slice(0, 128)}` },
      run: async (tx) => {
        const event = await this.events.get(tx, id);
        if (!event || !isVisible(asked.caller, event.queue)) throw new NotFoundProblem('dead event');
        await this.events.requeue(tx, [id]);
        return {
          answer: { id, revived: true },
          before: { status: 'DEAD', attempts: event.attempts },
          after: { status: 'PENDING' },
        };
      },
    });
  }
}

const isVisible = ({ queues }: Caller, queue: string): boolean => !queues || queues.includes(queue);

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
