import { Controller, Get } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Pipeline } from '#database';
import type { PipelineView } from '#dlq-client';
import { Needs } from '../access/access.decorators.js';

/** Whose letters these are, so that a client can tell a stranger. */
@ApiTags('pipeline')
@Controller('api/v1/pipeline')
export class PipelineController {
  constructor(private readonly pipeline: Pipeline) {}

  @Get()
  @Needs('viewer')
  @ApiOperation({ summary: 'The pipeline whose dead letters are served.' })
  show(): PipelineView {
    const { id, destination } = this.pipeline.row;
    return { id, destination: destination ?? null };
  }
}
