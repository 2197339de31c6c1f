import { Req, Res } from '@nestjs/common';
import { Reads, Routes } from '../http/route.js';
import type { Response } from 'express';
import type { PipelineView } from '#dlq-client';
import { PipelineOverview } from '#overview';
import { AccessGuard } from '../access/access.guard.js';
import { CurrentCaller, type AuthenticatedRequest, type Caller } from '../access/caller.js';
import { PipelineStreams } from './pipeline-streams.service.js';

/** Where everything stands, and whose it is. */
@Routes('pipeline')
export class PipelineController {
  constructor(
    private readonly overview: PipelineOverview,
    private readonly streams: PipelineStreams,
    private readonly access: AccessGuard,
  ) {}

  @Reads('', 'viewer', 'The pipeline at a glance: scans, files, jobs, batches, letters, throughput, workers.')
  show(@CurrentCaller() caller: Caller): Promise<PipelineView> {
    return this.overview.view(caller.queues);
  }

  @Reads('stream', 'viewer', 'As server-sent events, at once and after every change. Ask again when it ends.')
  stream(
    @CurrentCaller() caller: Caller,
    @Req() request: AuthenticatedRequest,
    @Res() response: Response,
  ): Promise<void> {
    return this.streams.open(response, caller.queues, () => this.access.identify(request));
  }
}
