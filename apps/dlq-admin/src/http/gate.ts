import express, { type Request, type RequestHandler } from 'express';
import { withTrace } from '#service';
import { forgerySign, hasForeignBody } from '../access/origin.js';
import { badRequest, forbidden, ProblemError } from './problems.js';

const MAX_URL = 4_096;
const NO_SECRETS = 'addresses end up in logs: send the key in the Authorization header';
const SECRET_PARAMETER = /[?&](api[-_]?key|key|token|access_token|secret|password)=/i;

export const gate: RequestHandler = (request, _response, next) =>
  withTrace(undefined, () => next(refusal(request)));

/** Everything that can be refused before a body is read or a route is looked for. */
function refusal({ method, originalUrl, headers }: Request): ProblemError | undefined {
  if (originalUrl.length > MAX_URL)
    return new ProblemError(414, 'URI_TOO_LONG', `an address has at most ${MAX_URL} characters`);
  if (/%00/.test(originalUrl)) return badRequest('an address may not hold NUL');
  if (SECRET_PARAMETER.test(originalUrl)) return new ProblemError(400, 'SECRET_IN_URL', NO_SECRETS);
  const sign = forgerySign(method, headers);
  if (sign) return forbidden('CROSS_SITE', `changes from other sites are refused: ${sign}`);
  if (headers['content-encoding'] !== undefined || hasForeignBody(method, headers))
    return new ProblemError(415, 'UNSUPPORTED_MEDIA_TYPE', 'send application/json, not encoded');
  return undefined;
}

const BODY = '100kb';
const PAYLOAD_EDIT = '1mb';
const TOO_LARGE = `a body has at most ${BODY}, an edited payload ${PAYLOAD_EDIT}`;
const MAX_DEPTH = 64;
const MAX_NODES = 50_000;

/** Reads JSON bodies, bounded in size, depth and number of values. Only an edited payload may be large. */
export function jsonBodies(): RequestHandler {
  const small = express.json({ limit: BODY, inflate: false, strict: true });
  const large = express.json({ limit: PAYLOAD_EDIT, inflate: false, strict: true });
  // The name tells Nest that bodies are read already.
  const jsonParser: RequestHandler = (request, response, next) => {
    const parse = /^\/api\/v1\/dead-letters\/\d+\/payload$/.test(request.path) ? large : small;
    parse(request, response, (error?: unknown) => {
      const fault = error ? null : shapeFault(request.body, parse === large);
      next(error ? bodyProblem(error) : fault && badRequest(fault));
    });
  };
  return jsonParser;
}

function bodyProblem(error: unknown): ProblemError {
  const { status, type } = error as { status?: number; type?: string };
  if (type === 'entity.too.large') return new ProblemError(413, 'CONTENT_TOO_LARGE', TOO_LARGE);
  if (status === 415)
    return new ProblemError(415, 'UNSUPPORTED_MEDIA_TYPE', 'send application/json, not encoded');
  return new ProblemError(400, 'INVALID_JSON', 'the body is not JSON');
}

/** What is wrong with a value's shape; null when nothing is. Walks without recursion. A payload is anybody's data. */
function shapeFault(body: unknown, isPayload: boolean): string | null {
  const waiting: { value: unknown; depth: number }[] = [{ value: body, depth: 1 }];
  let nodes = 0;
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    if (++nodes > MAX_NODES) return `a body has at most ${MAX_NODES} values`;
    const strict = !isPayload || at.depth === 1;
    if (strict && typeof at.value === 'string' && at.value.includes('\0')) return 'a text may not hold NUL';
    if (typeof at.value !== 'object' || at.value === null) continue;
    if (at.depth > MAX_DEPTH) return `a body is nested at most ${MAX_DEPTH} deep`;
    if (Object.hasOwn(at.value, '__proto__')) return 'a key may not be __proto__';
    // The check of fields would take these two for the object's own.
    if (strict && Object.keys(at.value).some((key) => /^(constructor|prototype)$|\0/.test(key)))
      return 'unknown field';
    for (const value of Object.values(at.value)) waiting.push({ value, depth: at.depth + 1 });
  }
  return null;
}
