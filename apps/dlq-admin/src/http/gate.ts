import type { Request, RequestHandler } from 'express';
import { withTrace } from '#service';
import { forgerySign, hasForeignBody } from '../access/origin.js';
import { asProblem, sendProblem } from './problem.filter.js';
import { badRequest, forbidden, ProblemError } from './problems.js';

const MAX_URL = 4_096;
const NO_SECRETS = 'addresses end up in logs: send the key in the Authorization header';
const SECRET_PARAMETER = /[?&](api[-_]?key|key|token|access_token|secret|password)=/i;

/** Everything that can be refused before a body is read or a route is looked for. */
function refusal({ method, originalUrl, headers }: Request): ProblemError | null {
  if (originalUrl.length > MAX_URL)
    return new ProblemError(414, 'URI_TOO_LONG', `an address has at most ${MAX_URL} characters`);
  if (/%00/.test(originalUrl)) return badRequest('an address may not hold NUL');
  if (SECRET_PARAMETER.test(originalUrl)) return new ProblemError(400, 'SECRET_IN_URL', NO_SECRETS);
  const sign = forgerySign(method, headers);
  if (sign) return forbidden('CROSS_SITE', `changes from other sites are refused: ${sign}`);
  if (headers['content-encoding'] !== undefined || hasForeignBody(method, headers))
    return new ProblemError(415, 'UNSUPPORTED_MEDIA_TYPE', 'send application/json, not encoded');
  return null;
}

export const gate: RequestHandler = (request, response, next) =>
  withTrace(undefined, () => {
    const problem = refusal(request);
    if (problem) sendProblem(response, problem);
    else next();
  });

/** A middleware whose rejections become problems. */
export function guarded(check: (request: Request) => Promise<void>): RequestHandler {
  return (request, response, next) =>
    void check(request).then(next, (error: unknown) => sendProblem(response, asProblem(error)));
}
