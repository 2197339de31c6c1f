import { basename, join } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';

/** The views of the page; each address leads to the same document, which reads the address. */
const VIEWS =
  /^\/(letters(\/\d+)?|groups(\/[0-9a-f]+)?|bulk(\/[0-9a-f-]+)?|batches\/[0-9a-f-]+|files(\/\d+)?|queues|events|audit|keys|docs)?$/;

/** The page's files stand beside the folder of sources, and in a build beside the folder of the bundle. */
function uiFolder(): string {
  const here = import.meta.dirname;
  return join(here, basename(here) === 'http' ? '../../ui' : '../ui');
}

/** Serves the page. Its files hold no data, so they need no key: the page asks for one. */
export function uiFiles(folder = uiFolder()): Router {
  const router = express.Router();
  router.use(
    '/assets',
    express.static(folder, {
      index: false,
      cacheControl: false,
      setHeaders: (response) => response.set('Cache-Control', 'no-cache'),
    }),
  );
  const page: RequestHandler = (request, response, next) => {
    if ((request.method !== 'GET' && request.method !== 'HEAD') || !VIEWS.test(request.path)) return next();
    response.set('Cache-Control', 'no-cache').sendFile(join(folder, 'index.html'));
  };
  return router.use(page);
}
