import { MillraceError } from '#service';

/** Waiting does not cure these: the process says so and exits with the code it carries. */
export abstract class ScanRefusedError extends MillraceError {
  abstract readonly exitCode: number;
}

export class RootUnusableError extends ScanRefusedError {
  readonly code = 'ROOT_UNUSABLE';
  readonly exitCode = 66;

  constructor(
    readonly path: string,
    problem: string,
    cause?: unknown,
  ) {
    super(`TARGET_DIRECTORY ${path} ${problem}; nothing was changed`, { cause });
  }
}

export class OverlappingRootError extends ScanRefusedError {
  readonly code = 'ROOT_OVERLAPS';
  readonly exitCode = 65;

  constructor(
    readonly path: string,
    readonly other: string,
  ) {
    super(
      `${path} overlaps ${other}, which this database already holds: a file would belong to both; ` +
        'scan that one, or use another DATABASE_URL',
    );
  }
}

export class MassRemovalError extends ScanRefusedError {
  readonly code = 'MASS_REMOVAL';
  readonly exitCode = 77;

  constructor(
    readonly missing: number,
    readonly known: number,
    readonly percent: number,
  ) {
    super(
      `${missing} of ${known} known files are missing, more than ${percent} % (MAX_REMOVAL_PERCENT): is a mount away? ` +
        'None was marked removed; set ALLOW_MASS_REMOVAL=true if they are gone on purpose',
    );
  }
}

export class TooManyFailuresError extends ScanRefusedError {
  readonly code = 'TOO_MANY_FAILURES';
  readonly exitCode = 1;

  constructor(readonly failed: number) {
    super(
      `${failed} work items failed, more than ERROR_THRESHOLD allows (each is logged above); the next run goes on from here`,
    );
  }
}
