import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import type { Response } from 'express';
import type { BulkAction, BulkKind, BulkPreview, Group, Page } from '#dlq-client';
import { Needs } from '../access/access.decorators.js';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { RateLimits } from '../access/rate-limits.service.js';
import { BulkRunDto } from '../bulk/bulk-action.dto.js';
import { answer } from '../bulk/bulk-actions.controller.js';
import { BulkActions } from '../bulk/bulk-actions.service.js';
import { NotFoundProblem } from '../http/problems.js';
import { IdempotencyKey } from '../http/query.js';
import { decodeCursor } from '../letters/cursor.js';
import { PageQuery, pageSize } from '../letters/letter.dto.js';
import { GroupsRepository } from './groups.repository.js';

export class GroupListQuery extends PageQuery {
  @ApiPropertyOptional({ enum: ['open', 'any'], default: 'open' })
  @IsOptional()
  @IsIn(['open', 'any'])
  status?: 'open' | 'any';
}

@ApiTags('groups')
@Controller('api/v1/groups')
export class GroupsController {
  constructor(
    private readonly groups: GroupsRepository,
    private readonly actions: BulkActions,
    private readonly limits: RateLimits,
  ) {}

  @Get()
  @Needs('viewer')
  @ApiOperation({ summary: 'List causes of failure, the largest first.' })
  list(@CurrentCaller() caller: Caller, @Query() query: GroupListQuery): Promise<Page<Group>> {
    return this.groups.list(caller.queues, {
      after: decodeCursor(query.cursor, 'string'),
      limit: pageSize(query),
      openOnly: query.status !== 'any',
    });
  }

  @Get(':id')
  @Needs('viewer')
  @ApiOperation({ summary: 'Show one cause: counts, queues, workers, first and last seen.' })
  async show(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Group> {
    const group = await this.groups.find(id, caller.queues);
    if (!group) throw new NotFoundProblem('group');
    return group;
  }

  @Post(':id/requeue')
  @HttpCode(202)
  @Needs('operator')
  @ApiOperation({ summary: 'Requeue the open letters of a group, as a bulk action.' })
  requeue(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: BulkRunDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkAction | BulkPreview> {
    return this.act('requeue', { caller, id, body, idempotencyKey }, response);
  }

  @Post(':id/discard')
  @HttpCode(202)
  @Needs('operator')
  @ApiOperation({ summary: 'Discard the open letters of a group, as a bulk action.' })
  discard(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: BulkRunDto,
    @IdempotencyKey() idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkAction | BulkPreview> {
    return this.act('discard', { caller, id, body, idempotencyKey }, response);
  }

  private async act(
    kind: BulkKind,
    request: { caller: Caller; id: string; body: BulkRunDto; idempotencyKey?: string },
    response: Response,
  ): Promise<BulkAction | BulkPreview> {
    const { caller, id, body, idempotencyKey } = request;
    await this.limits.take('bulk', caller.keyId);
    await this.show(caller, id);
    const whole = { ...body, kind, filter: { group: id, status: 'open' as const } };
    return answer(this.actions, { caller, body: whole, idempotencyKey }, response);
  }
}
