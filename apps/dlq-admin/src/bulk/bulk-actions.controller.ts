import { Body, Param, ParseUUIDPipe, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { BulkAction, BulkPreview, Page } from '#dlq-client';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { RateLimits } from '../access/rate-limits.service.js';
import { decodeCursor, NoteDto, PageQuery } from '../http/field.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Changes, Reads, Routes } from '../http/route.js';
import { BulkActionDto } from './bulk-action.dto.js';
import { BulkActionsService } from './bulk-actions.service.js';

const ActionId = (): ParameterDecorator => Param('id', ParseUUIDPipe);

@Routes('bulk actions')
export class BulkActionsController {
  constructor(
    private readonly actions: BulkActionsService,
    private readonly limits: RateLimits,
  ) {}

  @Changes(
    '',
    'operator',
    'Change many letters in the background; with `dryRun`, only show what would happen (200).',
    202,
  )
  async create(
    @Asked() asked: AskedBy,
    @Body() body: BulkActionDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkAction | BulkPreview> {
    await this.limits.take('bulk', asked.caller.keyId);
    if (body.dryRun) {
      response.status(200);
      return this.actions.preview(asked.caller, body);
    }
    const action = await this.actions.start({ ...asked, note: body.note }, body);
    response.set('Location', `/api/v1/bulk-actions/${action.id}`);
    return action;
  }

  @Reads('', 'viewer', 'List bulk actions, newest first.')
  list(@CurrentCaller() caller: Caller, @Query() { cursor, limit }: PageQuery): Promise<Page<BulkAction>> {
    return this.actions.list(caller, decodeCursor(cursor, 'string'), limit);
  }

  @Reads(':id', 'viewer', 'Show the progress of a bulk action.')
  show(@CurrentCaller() caller: Caller, @ActionId() id: string): Promise<BulkAction> {
    return this.actions.show(caller, id);
  }

  @Changes(
    ':id/approve',
    'operator',
    'Approve a bulk action that waits for a second person; not by the key that asked.',
  )
  approve(@Asked() asked: AskedBy, @ActionId() id: string, @Body() why: NoteDto): Promise<BulkAction> {
    return this.actions.approve({ ...asked, ...why }, id);
  }

  @Changes(
    ':id/continue',
    'operator',
    'Go on with what a stopped or aborted action has left, as another.',
    202,
  )
  continue(@Asked() asked: AskedBy, @ActionId() id: string, @Body() why: NoteDto): Promise<BulkAction> {
    return this.actions.continue({ ...asked, ...why }, id);
  }

  @Changes(':id/abort', 'operator', 'Stop a bulk action. What it has done stays done.')
  abort(@Asked() asked: AskedBy, @ActionId() id: string, @Body() why: NoteDto): Promise<BulkAction> {
    return this.actions.abort({ ...asked, ...why }, id);
  }
}
