import type { INestApplication } from '@nestjs/common';
import type { RequestHandler } from 'express';
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

/** Answers 404 for what no route serves, before a byte of its body is read. */
export function unknownRoutes(app: INestApplication): RequestHandler {
  return ({ method, path }, response, next) => {
    const verb = method.toLowerCase();
    const known = layersOf(app).some(
      (layer) =>
        layer.route &&
        (layer.route.methods[verb] ?? (verb === 'head' && layer.route.methods.get)) &&
        layer.match(path),
    );
    if (known) next();
    else sendProblem(response, new ProblemError(404, 'NOT_FOUND', 'there is nothing at this address'));
  };
}
