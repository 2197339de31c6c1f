/** Exit codes of every program here; the numbers follow sysexits where one fits. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  forced: 75,
  config: 78,
} as const;

/** Base of the errors that our libs throw on purpose: a stable `code` to test, facts, and the cure in the sentence. */
export abstract class MillraceError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One that callers tell by its `code` alone. */
export class CodedError extends MillraceError {
  constructor(
    readonly code: string,
    message: string,
    { cause, ...facts }: { cause?: unknown; fatal?: true; [fact: string]: unknown } = {},
  ) {
    super(message, { cause });
    Object.assign(this, facts);
  }
}

/** The `code` of a Millrace or Node error, if it has one. Looks at the shape: an error may come from another realm. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined;
}

/** What an error says; also of a thrown value that is none. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const startupTimeout = (part: string, waitedMs: number, cause: unknown): CodedError =>
  new CodedError(
    'STARTUP_TIMEOUT',
    `${part} did not become available within ${waitedMs} ms (STARTUP_TIMEOUT_MS); check that it runs and is reachable`,
    { part, waitedMs, cause },
  );

export const forgottenParts = (parts: readonly string[]): CodedError =>
  new CodedError(
    'FORGOTTEN_PARTS',
    `nothing starts ${parts.join(', ')}: a provider that implements Service must be in the app's list of services`,
    { parts },
  );

/** Whether a process found the work of others where its configuration sends it: `EXIT.config`. */
export function isRefusal(error: unknown): boolean {
  return ['PIPELINE_MISMATCH', 'OUTPUT_OWNED'].includes(errorCode(error) ?? '');
}
