import { Controller, Get, Injectable } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ApiTags, DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { completed } from './api-document.js';
import { Needs } from './route.js';

const ABOUT = new DocumentBuilder()
  .setOpenAPIVersion('3.1.0')
  .setTitle('Millrace dlq-admin')
  .setDescription('Dead letters: inspect, search, edit, discard, requeue. Errors are RFC 9457 problems.')
  .setVersion('1')
  .addBearerAuth()
  .build();

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
    return (this.document ??= completed(SwaggerModule.createDocument(this.app, ABOUT)));
  }
}

@ApiTags('docs')
@Controller('docs')
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  @Get('openapi.json')
  @Needs('viewer')
  openApi(): OpenAPIObject {
    return this.document.get();
  }
}
