import { ValidationPipe, type INestApplication } from '@nestjs/common';
import type { Express, RequestHandler } from 'express';
import helmet from 'helmet';
import { Metrics } from '#service';
import { AccessGuard } from '../access/access.guard.js';
import type { DlqAdminConfig } from '../dlq-admin.config.js';
import { ApiDocument } from './docs.controller.js';
import { gate, jsonBodies } from './gate.js';
import { VALIDATION, validationProblem } from './query.js';
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
  const admit: RequestHandler = (request, _response, next) => access.admit(request).then(() => next(), next);
  app.use(timed(app.get(Metrics)));
  app.use(securityHeaders());
  app.use(gate);
  app.use(uiFiles());
  app.use(noStore);
  app.use(unknownRoutes(app));
  app.use(admit);
  app.use(jsonBodies());
  app.useGlobalPipes(
    new ValidationPipe({ ...VALIDATION, transform: true, exceptionFactory: validationProblem }),
  );
  app.get(ApiDocument).of(app);
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Times requests by the route that answered, never by the address, which anybody may invent. A stream's age is no duration. */
function timed(metrics: Metrics): RequestHandler {
  const durations = metrics.histogram({
    name: 'millrace_http_request_duration_seconds',
    help: 'Time from a request to its answer.',
    labels: ['method', 'route', 'status'],
    buckets: SECONDS,
  });
  return (request, response, next) => {
    const begun = performance.now();
    response.on('finish', () => {
      const route = (request.route as { path?: string } | undefined)?.path ?? 'none';
      if (route.endsWith('/stream')) return;
      const method = METHODS.has(request.method) ? request.method : 'other';
      const labels = { method, route, status: String(response.statusCode) };
      durations.observe(labels, (performance.now() - begun) / 1_000);
    });
    next();
  };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']);

/** Everything the page may load comes from here; nothing inline, nothing framed. helmet's own policy is weaker. */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'"],
        connectSrc: ["'self'"],
        manifestSrc: ["'self'"],
        formAction: ["'none'"],
        baseUri: ["'none'"],
        objectSrc: ["'none'"],
        frameAncestors: ["'none'"],
        requireTrustedTypesFor: ["'script'"],
      },
    },
    xFrameOptions: { action: 'deny' },
  }) as RequestHandler;
}

/** Answers about letters stay in no cache. */
const noStore: RequestHandler = (_request, response, next) => {
  response.set('Cache-Control', 'no-store');
  next();
};
