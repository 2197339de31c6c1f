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

export class InvalidRequestError extends ProblemError {
  constructor(path: string, message: string) {
    super(400, 'INVALID_REQUEST', `${path}: ${message}`, { errors: [{ path, message }] });
  }
}

export class NotFoundProblem extends ProblemError {
  constructor(what: string) {
    super(404, 'NOT_FOUND', `there is no such ${what}, or your key may not see it`);
  }
}

export class ConflictProblem extends ProblemError {
  constructor(code: string, detail: string) {
    super(409, code, detail);
  }
}

export class ForbiddenProblem extends ProblemError {
  constructor(code: string, detail: string) {
    super(403, code, detail);
  }
}

export class TooManyRequestsProblem extends ProblemError {
  constructor(retryAfterMs: number) {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
    super(429, 'TOO_MANY_REQUESTS', `too many requests; try again in ${seconds} s`, {
      headers: { 'Retry-After': String(seconds) },
    });
  }
}

export class UnavailableProblem extends ProblemError {
  constructor(cause?: unknown) {
    super(503, 'UNAVAILABLE', 'the database does not answer; nothing was changed, try again shortly', {
      headers: { 'Retry-After': '2' },
      cause,
    });
  }
}

export class TooSlowProblem extends ProblemError {
  constructor(cause: unknown) {
    const detail = 'this took the database too long and was given up; narrow it by queue, status or time';
    super(503, 'QUERY_TOO_SLOW', detail, { cause });
  }
}
