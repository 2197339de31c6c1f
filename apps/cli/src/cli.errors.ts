import { CommanderError } from 'commander';
import { ConfigError } from '#config';
import { EXIT, errorCode, isRefusal, messageOf, MillraceError } from '#service';
import { paint } from './output/colour.js';

/** Exit codes of `millrace` beyond those of every service. */
export const CLI_EXIT = {
  ...EXIT,
  /** A search found nothing, as with grep. */
  nothing: 1,
  /** The run drained, but some files failed and have dead letters; some letters were skipped or failed again. */
  someFailed: 3,
  /** `verify` found a violation. */
  violated: 4,
  /** dlq-admin wants another key: this one is missing, wrong, or its role does not suffice. */
  refused: 5,
  /** What was named is missing or cannot be read: a directory, a database, a letter. */
  noInput: 66,
  /** What was named to be written cannot be: the output folder, the report. */
  cannotCreate: 73,
  /** Ended by Ctrl-C, in order. */
  interrupted: 130,
} as const;

/** A mistake or a lack that the person at the terminal can fix. The message says how. */
export class CliError extends MillraceError {
  readonly code = 'CLI';

  constructor(
    message: string,
    readonly exitCode: number = CLI_EXIT.failed,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** For `catch`: says what could not be done and how to fix it, in the place of what the system says. */
export const failing =
  (exitCode: number, say: (reason: string, code?: string) => string) =>
  (error: unknown): never => {
    throw new CliError(say(messageOf(error), errorCode(error)), exitCode, error);
  };

/** The command was not called as its help says. */
export class UsageError extends CliError {
  constructor(message: string, cause?: unknown) {
    super(message, CLI_EXIT.usage, cause);
  }
}

/** Says on standard error what a command ended with, and returns its exit code. */
export function reported(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  process.stderr.write(`${paint('red', 'millrace:', process.stderr)} ${messageOf(error)}\n`);
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError || isRefusal(error)) return EXIT.config;
  if (errorCode(error) === 'DATABASE_UNAVAILABLE') return EXIT.unavailable;
  // Errors of our libs say what is wrong and how to fix it; anything else is a bug and shows where.
  if (errorCode(error) !== undefined) return CLI_EXIT.failed;
  if (error instanceof Error) process.stderr.write(`${error.stack}\n`);
  return EXIT.internal;
}
