import type { INestApplication } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { sendProblem } from './problem.filter.js';
import { ProblemError } from './problems.js';

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  match(path: string): boolean;
}

export interface Route {
  method: string;
  path: string;
}

const layersOf = (app: INestApplication): Layer[] =>
  (app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } }).router.stack;

/** Every route that the process serves, as its router knows them. */
export function routesOf(app: INestApplication): Route[] {
  return layersOf(app).flatMap(({ route }) =>
    route
      ? Object.keys(route.methods)
          .filter((method) => route.methods[method])
          .flatMap((method) =>
            [route.path].flat().map((path) => ({ method: method.toUpperCase(), path: String(path) })),
          )
      : [],
  );
}

/** Answers for what no route serves, before a byte of its body is read: 405 with what the address does serve, or 404. */
export function unknownRoutes(app: INestApplication): RequestHandler {
  return (request, response, next) => {
    const allowed = methodsAt(app, request.path);
    if (allowed.includes(request.method)) return next();
    if (allowed.length > 0) sendProblem(response, new MethodProblem(request.method, allowed));
    else if (isForPeople(request)) response.status(404).type('html').send(NOTHING_HERE);
    else sendProblem(response, new ProblemError(404, 'NOT_FOUND', 'there is nothing at this address'));
  };
}

class MethodProblem extends ProblemError {
  constructor(method: string, allowed: readonly string[]) {
    super(405, 'METHOD_NOT_ALLOWED', `${method} is not served here; ${allowed.join(', ')} is`, {
      headers: { Allow: allowed.join(', ') },
    });
  }
}

/** GET answers HEAD as well. */
function methodsAt(app: INestApplication, path: string): string[] {
  const methods = layersOf(app).flatMap((layer) => {
    const { methods: served = {} } = layer.route ?? {};
    return layer.route && layer.match(path) ? Object.keys(served).filter((name) => served[name]) : [];
  });
  const all = methods.flatMap((name) => (name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()]));
  return [...new Set(all)].sort();
}

/** One who followed a link, or typed an address; programs get a problem. */
const isForPeople = (request: Request): boolean =>
  request.method === 'GET' &&
  !request.path.startsWith('/api/') &&
  request.accepts(['json', 'html']) === 'html';

const NOTHING_HERE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>Nothing here · Millrace</title>
    <link rel="stylesheet" href="/assets/style.css" />
  </head>
  <body>
    <main>
      <h1>There is nothing at this address</h1>
      <p><a href="/">To the first page</a></p>
    </main>
  </body>
</html>
`;
