import { STATUS_CODES } from 'node:http';
import { Catch, HttpException, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { CommitUnknownError, DatabaseClosedError, errorKind } from '#database';
import type { Problem } from '#dlq-client';
import { currentTrace, errorCode, LOGGER, MillraceError, traceId, type Logger } from '#service';

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

const TOO_SLOW = 'this took the database too long and was given up; narrow it by queue, status or time';

/** As RFC 9110 has them; Node still says what came before for these two. */
const TITLES: Partial<Record<number, string>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
};

/** Answers with a problem (RFC 9457) whatever was thrown. What we did not mean to say is logged, not said. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const { path } = host.switchToHttp().getRequest<Request>();
    // A probe that is down says which part is, in terminus' own words.
    if (error instanceof HttpException && path.startsWith('/health/'))
      return void response.status(error.getStatus()).json(error.getResponse());
    const problem = asProblem(error);
    if (problem.status >= 500) this.logger.error({ err: error, status: problem.status }, 'request failed');
    if (response.headersSent) response.destroy();
    else sendProblem(response, problem);
  }
}

function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof HttpException) return ofNest(error);
  if (isUnavailable(error)) return unavailable(error);
  if (errorCode(error) === 'STATEMENT_TIMEOUT')
    return new ProblemError(503, 'QUERY_TOO_SLOW', TOO_SLOW, { cause: error });
  const detail = 'something went wrong here; the log has the details under this trace id';
  return new ProblemError(500, 'INTERNAL', detail, { cause: error });
}

function ofNest(error: HttpException): ProblemError {
  const status = error.getStatus();
  const detail =
    status === 404 ? 'there is nothing at this address' : status >= 500 ? 'not now' : error.message;
  const code = TITLES[status]?.toUpperCase().replaceAll(' ', '_') ?? `HTTP_${status}`;
  return new ProblemError(status, code, detail);
}

function isUnavailable(error: unknown): boolean {
  return (
    ['connection-lost', 'busy'].includes(errorKind(error)) ||
    error instanceof DatabaseClosedError ||
    error instanceof CommitUnknownError ||
    errorCode(error) === 'DATABASE_UNAVAILABLE'
  );
}

function sendProblem(response: Response, problem: ProblemError): void {
  const trace = currentTrace();
  const body: Problem = {
    type: 'about:blank',
    title: TITLES[problem.status] ?? 'Error',
    status: problem.status,
    detail: problem.detail,
    code: problem.code,
    ...(trace && { traceId: traceId(trace) }),
    ...(problem.facts.errors && { errors: problem.facts.errors }),
  };
  response
    .status(problem.status)
    .set({ ...problem.facts.headers, 'Cache-Control': 'no-store' })
    .type('application/problem+json')
    .send(JSON.stringify(body));
}
