import type { Problem } from './answers.js';

/** dlq-admin answered, and refused. `code` is the problem's, for callers to test. */
export class DlqProblemError extends Error {
  readonly code: string;

  constructor(readonly problem: Problem) {
    super(problem.detail);
    this.name = 'DlqProblemError';
    this.code = problem.code;
  }
}

/** dlq-admin did not answer. */
export class DlqUnreachableError extends Error {
  readonly code = 'DLQ_ADMIN_UNREACHABLE';

  constructor(url: string, cause: unknown) {
    super(`dlq-admin at ${url} does not answer; check that it runs and that the address is right`, { cause });
    this.name = 'DlqUnreachableError';
  }
}
