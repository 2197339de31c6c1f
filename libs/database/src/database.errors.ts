import { shownDestination, type Destination } from '#contracts';
import { MillraceError } from '#service';
import type { OutputOwner } from './output-owner.js';

export class InvalidDatabaseUrlError extends MillraceError {
  readonly code = 'DATABASE_URL_INVALID';
  readonly fatal = true;

  constructor(reason: string) {
    super(`DATABASE_URL is not usable: ${reason}`);
  }
}

/** The schema was migrated by a newer build; running on it could destroy what this build does not know. */
export class SchemaTooNewError extends MillraceError {
  readonly code = 'SCHEMA_TOO_NEW';
  readonly fatal = true;

  constructor(
    readonly found: number,
    readonly known: number,
  ) {
    super(
      `the database schema is at version ${found}, but this build knows versions up to ${known}; ` +
        'run the newer build, or restore a backup taken before its migration',
    );
  }
}

/** The schema is older than this build needs and this process was told not to migrate. Another process may yet do it. */
export class SchemaTooOldError extends MillraceError {
  readonly code = 'SCHEMA_TOO_OLD';

  constructor(
    readonly found: number,
    readonly known: number,
  ) {
    super(
      `the database schema is at version ${found}, this build needs ${known}, and migrating is switched off here; ` +
        'start a process that may migrate first',
    );
  }
}

export class DatabaseFileError extends MillraceError {
  readonly code = 'DATABASE_FILE';
  readonly fatal = true;

  constructor(
    readonly path: string,
    problem: string,
    cure: string,
    cause?: unknown,
  ) {
    super(`SQLite database ${path}: ${problem}; ${cure}`, { cause });
  }
}

export class DatabaseCorruptError extends MillraceError {
  readonly code = 'DATABASE_CORRUPT';
  readonly fatal = true;

  constructor(
    readonly path: string,
    cause: unknown,
  ) {
    super(
      `SQLite database ${path} is damaged or not a database; move it away and scan again, or restore a backup ` +
        '(with its -wal file)',
      { cause },
    );
  }
}

/** The database cannot be reached or does not let us in. Waiting may cure it. */
export class DatabaseUnavailableError extends MillraceError {
  readonly code = 'DATABASE_UNAVAILABLE';

  constructor(what: string, cause: unknown) {
    super(`${what}; check DATABASE_URL and that the server runs, is reachable and accepts the user`, {
      cause,
    });
  }
}

/** What this process told PostgreSQL of its limits, schema or read-only did not arrive. Waiting does not cure it. */
export class SettingsNotInForceError extends MillraceError {
  readonly code = 'SETTINGS_NOT_IN_FORCE';
  readonly fatal = true;

  constructor(found: string) {
    super(
      `PostgreSQL does not keep to the settings of this process: ${found}; give DATABASE_URL the address of the server ` +
        'itself, or of a pooler in transaction or session mode (PgBouncer: pool_mode = transaction)',
    );
  }
}

/** Another process held the write lock of SQLite for longer than the allowed wait. */
export class DatabaseBusyError extends MillraceError {
  readonly code = 'DATABASE_BUSY';

  constructor(
    readonly waitedMs: number,
    cause: unknown,
  ) {
    super(
      `the database stayed locked by another process for ${waitedMs} ms; end what holds the lock, or use PostgreSQL`,
      { cause },
    );
  }
}

/** The transaction lost against concurrent ones (serialization failure, deadlock) on every try. Nothing was written. */
export class TransactionConflictError extends MillraceError {
  readonly code = 'TRANSACTION_CONFLICT';

  constructor(
    readonly tries: number,
    cause: unknown,
  ) {
    super(`the transaction conflicted with others ${tries} times; try again later`, { cause });
  }
}

/** Nothing was written. Try again when space was freed. */
export class DiskFullError extends MillraceError {
  readonly code = 'DISK_FULL';

  constructor(cause: unknown) {
    super(
      "the database's disk is full, the transaction was rolled back; free space, then it is tried again",
      {
        cause,
      },
    );
  }
}

/**
 * The connection broke after COMMIT was sent: the transaction happened wholly or not at all, and nobody here knows which.
 * The caller tries again in a way that finds its own earlier effect (unique key, guarded update).
 */
export class CommitUnknownError extends MillraceError {
  readonly code = 'COMMIT_UNKNOWN';

  constructor(cause: unknown) {
    super(
      'the connection broke during COMMIT; the outcome is unknown, so look for the effect before trying again',
      {
        cause,
      },
    );
  }
}

export class TransactionTimeoutError extends MillraceError {
  readonly code = 'TRANSACTION_TIMEOUT';

  constructor(
    readonly limitMs: number,
    cause?: unknown,
  ) {
    super(`a transaction took longer than ${limitMs} ms and was rolled back; do less in one transaction`, {
      cause,
    });
  }
}

/** One statement took longer than it may; it was ended, and its transaction rolled back. */
export class StatementTimeoutError extends MillraceError {
  readonly code = 'STATEMENT_TIMEOUT';

  constructor(cause: unknown) {
    super(
      'a statement took longer than it may and was ended, its transaction rolled back; ask for less at once, or raise ' +
        'DATABASE_STATEMENT_TIMEOUT_MS',
      { cause },
    );
  }
}

export class DatabaseClosedError extends MillraceError {
  readonly code = 'DATABASE_CLOSED';

  constructor() {
    super('the database is not open: it was stopped or has not started yet');
  }
}

/** A write arrived with a fence older than the newest issued for its key: its lease was lost. Nothing was written. */
export class StaleFenceError extends MillraceError {
  readonly code = 'STALE_FENCE';

  constructor(
    readonly key: string,
    readonly fence: number,
    readonly newest: number | undefined,
  ) {
    super(
      `fence ${fence} of "${key}" is stale (newest: ${newest ?? 'none'}); another holder took over, stop working on it`,
    );
  }
}

/** The output folder holds the batches of another pipeline. Nothing was done; exit code 78. */
export class OutputOwnedError extends MillraceError {
  readonly code = 'OUTPUT_OWNED';
  readonly fatal = true;

  constructor(
    readonly folder: string,
    readonly found: OutputOwner,
    readonly wanted: OutputOwner,
  ) {
    super(
      `the output folder ${folder} holds the batches of pipeline ${found.pipeline.slice(0, 8)} (${found.database}); ` +
        `this is pipeline ${wanted.pipeline.slice(0, 8)} (${wanted.database}). Give each an output folder of its own, or go on ` +
        `with the data of the first; when nobody needs that any more, remove ${folder}/.millrace.json`,
    );
  }
}

/** The database holds work for another destination. Nothing was done; exit code 78. */
export class PipelineMismatchError extends MillraceError {
  readonly code = 'PIPELINE_MISMATCH';
  readonly fatal = true;

  constructor(
    readonly id: string,
    readonly found: Destination,
    readonly wanted: Destination,
  ) {
    super(
      `this database holds pipeline ${id.slice(0, 8)}, which delivers to ${shownDestination(found)}; ` +
        `this process is configured for ${shownDestination(wanted)}. Give each destination a database of its own ` +
        '(a data folder, a SQLite file, or on PostgreSQL another ?schema=), or, when the destination itself moved, ' +
        'say so with `millrace pipeline --move-to`',
    );
  }
}
