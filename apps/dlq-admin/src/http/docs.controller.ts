import { Controller, Get, Injectable, Res } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ApiExcludeController, DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { join } from 'node:path';
import type { Response } from 'express';
import { Needs, Public } from '../access/access.decorators.js';
import { uiFolder } from './ui.js';

/** The OpenAPI document, made from the routes when first asked for. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private document: OpenAPIObject | undefined;

  of(app: INestApplication): void {
    this.app = app;
  }

  get(): OpenAPIObject {
    if (!this.app) throw new Error('the document was asked for before the app was configured');
    this.document ??= SwaggerModule.createDocument(
      this.app,
      new DocumentBuilder()
        .setTitle('Millrace dlq-admin')
        .setDescription(
          'Dead letters: inspect, search, edit, discard, requeue. Errors are RFC 9457 problems.',
        )
        .setVersion('1')
        .addBearerAuth()
        .build(),
    );
    return this.document;
  }
}

@ApiExcludeController()
@Controller('docs')
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  /** A frame without data: its script asks for the document, with the token of the session. */
  @Get()
  @Public()
  page(@Res() response: Response): void {
    response.sendFile(join(uiFolder(), 'docs.html'));
  }

  @Get('openapi.json')
  @Needs('viewer')
  openApi(): OpenAPIObject {
    return this.document.get();
  }
}
