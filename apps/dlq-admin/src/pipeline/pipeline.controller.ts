import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Reads } from '../http/route.js';
import type { Response } from 'express';
import type { PipelineView } from '#dlq-client';
import { PipelineOverview } from '#overview';
import { Needs } from '../access/access.decorators.js';
import { AccessGuard } from '../access/access.guard.js';
import { CurrentCaller, type AuthenticatedRequest, type Caller } from '../access/caller.js';
import { PipelineStreams } from './pipeline-streams.service.js';

/** Where everything stands, and whose it is. */
@ApiTags('pipeline')
@Controller('api/v1/pipeline')
export class PipelineController {
  constructor(
    private readonly overview: PipelineOverview,
    private readonly streams: PipelineStreams,
    private readonly access: AccessGuard,
  ) {}

  @Reads(
    '',
    'viewer',
    'The pipeline at a glance: scans, files, queues, batches, letters, throughput, workers.',
  )
  show(@CurrentCaller() caller: Caller): Promise<PipelineView> {
    return this.overview.view(caller.queues);
  }

  @Get('stream')
  @Needs('viewer')
  @ApiOperation({
    summary: 'The same as server-sent events: one `pipeline` event at once and after every change.',
    description:
      'Ends after some minutes, and when the server stops; an EventSource then asks again by itself.',
  })
  stream(
    @CurrentCaller() caller: Caller,
    @Req() request: AuthenticatedRequest,
    @Res() response: Response,
  ): Promise<void> {
    return this.streams.open(response, caller.queues, () => this.access.identify(request));
  }
}
