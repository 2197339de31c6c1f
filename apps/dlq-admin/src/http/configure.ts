import { ValidationPipe, type INestApplication } from '@nestjs/common';
import type { Express } from 'express';
import { Metrics } from '#service';
import { AccessGuard } from '../access/access.guard.js';
import type { DlqAdminConfig } from '../dlq-admin.config.js';
import { jsonBodies } from './body.js';
import { ApiDocument } from './docs.controller.js';
import { gate, guarded } from './gate.js';
import { noStore, securityHeaders } from './headers.js';
import { VALIDATION, validationProblem } from './query.js';
import { timed } from './timed.js';
import { unknownRoutes } from './routes.js';
import { uiFiles } from './ui.js';

/** What a request passes before it reaches its route, in this order. */
export function configureHttp(app: INestApplication, config: DlqAdminConfig): void {
  const express = app.getHttpAdapter().getInstance() as Express;
  express
    .disable('x-powered-by')
    .disable('etag')
    .set('trust proxy', config.TRUST_PROXY_HOPS)
    .set('query parser', 'simple');
  const access = app.get(AccessGuard);
  app.use(timed(app.get(Metrics)));
  app.use(securityHeaders());
  app.use(gate);
  app.use(uiFiles());
  app.use(noStore);
  app.use(unknownRoutes(app));
  app.use(guarded((request) => access.admit(request)));
  app.use(jsonBodies());
  app.useGlobalPipes(
    new ValidationPipe({ ...VALIDATION, transform: true, exceptionFactory: validationProblem }),
  );
  app.get(ApiDocument).of(app);
}
