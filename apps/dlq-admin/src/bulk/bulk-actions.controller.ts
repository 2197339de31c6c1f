import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { BulkAction, BulkPreview, Page } from '#dlq-client';
import { Needs } from '../access/access.decorators.js';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { RateLimits } from '../access/rate-limits.service.js';
import { IdempotencyKey } from '../http/query.js';
import { decodeCursor } from '../letters/cursor.js';
import { NoteDto, PageQuery, pageSize } from '../letters/letter.dto.js';
import { BulkActionDto } from './bulk-action.dto.js';
import { BulkActions } from './bulk-actions.service.js';

@ApiTags('bulk actions')
@Controller('api/v1/bulk-actions')
export class BulkActionsController {
  constructor(
    private readonly actions: BulkActions,
    private readonly limits: RateLimits,
  ) {}

  @Post()
  @HttpCode(202)
  @Needs('operator')
  @ApiOperation({
    summary: 'Change many letters in the background; with `dryRun`, only show what would happen (200).',
  })
  async create(
    @CurrentCaller() caller: Caller,
    @Body() body: BulkActionDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkAction | BulkPreview> {
    await this.limits.take('bulk', caller.keyId);
    if (body.dryRun) {
      response.status(200);
      return this.actions.preview(caller, body);
    }
    const action = await this.actions.start({ caller, body, idempotencyKey });
    response.set('Location', `/api/v1/bulk-actions/${action.id}`);
    return action;
  }

  @Get()
  @Needs('viewer')
  @ApiOperation({ summary: 'List bulk actions, newest first.' })
  list(@CurrentCaller() caller: Caller, @Query() query: PageQuery): Promise<Page<BulkAction>> {
    return this.actions.list(caller, decodeCursor(query.cursor, 'string'), pageSize(query));
  }

  @Get(':id')
  @Needs('viewer')
  @ApiOperation({ summary: 'Show the progress of a bulk action.' })
  show(@CurrentCaller() caller: Caller, @Param('id', ParseUUIDPipe) id: string): Promise<BulkAction> {
    return this.actions.show(caller, id);
  }

  @Post(':id/approve')
  @HttpCode(200)
  @Needs('operator')
  @ApiOperation({
    summary: 'Approve a bulk action that waits for a second person; not by the key that asked.',
  })
  approve(
    @CurrentCaller() caller: Caller,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() { note }: NoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<BulkAction> {
    return this.actions.approve(caller, id, note, idempotencyKey);
  }

  @Post(':id/continue')
  @HttpCode(202)
  @Needs('operator')
  @ApiOperation({ summary: 'Go on, as another action, with what a stopped or aborted one has left.' })
  continue(
    @CurrentCaller() caller: Caller,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() { note }: NoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<BulkAction> {
    return this.actions.continue(caller, id, note, idempotencyKey);
  }

  @Post(':id/abort')
  @HttpCode(200)
  @Needs('operator')
  @ApiOperation({ summary: 'Stop a bulk action. What it has done stays done.' })
  abort(
    @CurrentCaller() caller: Caller,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() _body: NoteDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<BulkAction> {
    return this.actions.abort(caller, id, idempotencyKey);
  }
}
