import express, { type RequestHandler } from 'express';
import { sendProblem } from './problem.filter.js';
import { badRequest, ProblemError } from './problems.js';

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
      if (error) return sendProblem(response, bodyProblem(error));
      const fault = shapeFault(request.body, parse === large);
      if (fault) sendProblem(response, badRequest(fault));
      else next();
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
