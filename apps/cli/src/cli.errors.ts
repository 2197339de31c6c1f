import { EXIT, MillraceError } from '#service';

/** Exit codes of `millrace` beyond those of every service. */
export const CLI_EXIT = {
  ...EXIT,
  /** The run drained, but some files failed and have dead letters. */
  someFailed: 3,
  /** `verify` found a violation. */
  violated: 4,
  /** The directory to work on is missing or cannot be read. */
  noInput: 66,
} as const;

/** A mistake or a lack that the person at the terminal can mend. The message says how. */
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
