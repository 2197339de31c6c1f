import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ApiDocument, DocsController } from './docs.controller.js';
import { ProblemFilter } from './problem.filter.js';

/** The OpenAPI document, and every error as a problem document. */
@Module({
  controllers: [DocsController],
  providers: [ApiDocument, { provide: APP_FILTER, useClass: ProblemFilter }],
})
export class HttpModule {}
