import { MillraceError } from '#service';

/** An answer other than success, as RFC 9457 wants it: status, stable code, and a sentence with the cure. */
export class ProblemError extends MillraceError {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly facts: {
      errors?: { path: string; message: string }[];
      headers?: Record<string, string>;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: facts.cause });
  }
}

export const badRequest = (detail: string, errors?: ProblemError['facts']['errors']): ProblemError =>
  new ProblemError(400, 'INVALID_REQUEST', detail, { errors });

export const invalidField = (path: string, message: string): ProblemError =>
  badRequest(`${path}: ${message}`, [{ path, message }]);

export const forbidden = (code: string, detail: string): ProblemError => new ProblemError(403, code, detail);

export const notFound = (what: string): ProblemError =>
  new ProblemError(404, 'NOT_FOUND', `there is no such ${what}, or your key may not see it`);

export const conflict = (code: string, detail: string): ProblemError => new ProblemError(409, code, detail);

export function tooManyRequests(retryAfterMs: number): ProblemError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const detail = `too many requests; try again in ${seconds} s`;
  return new ProblemError(429, 'TOO_MANY_REQUESTS', detail, { headers: { 'Retry-After': String(seconds) } });
}

export function unavailable(cause?: unknown): ProblemError {
  const detail = 'the database does not answer; nothing was changed, try again shortly';
  return new ProblemError(503, 'UNAVAILABLE', detail, { headers: { 'Retry-After': '2' }, cause });
}
