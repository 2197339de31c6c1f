import { EXIT, MillraceError } from '#service';

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
