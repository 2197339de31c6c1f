import { NotFoundException, type INestApplication } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { ProblemError } from './problems.js';

interface Layer {
  route?: { path: string | string[]; methods: Record<string, boolean> };
  match(path: string): boolean;
}

export interface Route {
  method: string;
  path: string;
}

/** Every route that the process serves, as its router knows them; only those that answer an address, if it is given. */
export function routesOf(app: INestApplication, address?: string): Route[] {
  const { stack } = (app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } }).router;
  return stack.flatMap((layer) => {
    const { path = [], methods = {} } = layer.route ?? {};
    if (address !== undefined && !(layer.route && layer.match(address))) return [];
    const served = Object.keys(methods).filter((name) => methods[name]);
    return served.flatMap((name) => [path].flat().map((one) => ({ method: name.toUpperCase(), path: one })));
  });
}

/** Answers for what no route serves, before a byte of its body is read: 405 with what the address does serve, or 404. */
export function unknownRoutes(app: INestApplication): RequestHandler {
  return (request, response, next) => {
    const allowed = methodsAt(app, request.path);
    if (allowed.includes(request.method)) next();
    else if (allowed.length > 0) next(methodProblem(request.method, allowed.join(', ')));
    else if (isForPeople(request)) response.status(404).type('html').send(NOTHING_HERE);
    else next(new NotFoundException());
  };
}

function methodProblem(method: string, allowed: string): ProblemError {
  const detail = `${method} is not served here; ${allowed} is`;
  return new ProblemError(405, 'METHOD_NOT_ALLOWED', detail, { headers: { Allow: allowed } });
}

/** GET answers HEAD as well. */
function methodsAt(app: INestApplication, address: string): string[] {
  const methods = routesOf(app, address).flatMap(({ method }) =>
    method === 'GET' ? ['GET', 'HEAD'] : method,
  );
  return [...new Set(methods)].sort();
}

/** One who followed a link, or typed an address; programs get a problem. */
const isForPeople = (request: Request): boolean =>
  request.method === 'GET' &&
  !request.path.startsWith('/api/') &&
  request.accepts(['json', 'html']) === 'html';

const NOTHING_HERE = `<!doctype html>
<html lang="en">
  <meta name="viewport" content="width=device-width" />
  <title>Nothing here · Millrace</title>
  <link rel="stylesheet" href="/assets/style.css" />
  <main><h1>There is nothing at this address</h1><p><a href="/">To the first page</a></p></main>
</html>
`;
