import { shownDestination, type Destination } from '#contracts';
import { CodedError } from '#service';
import type { OutputOwner } from './output-owner.js';

/** What the database refused or could not do. Callers test the `code`. */
export class DatabaseError extends CodedError {}

/**
 * The connection broke after COMMIT was sent: the transaction happened wholly or not at all, and nobody here knows which.
 * The caller tries again in a way that finds its own earlier effect (unique key, guarded update).
 */
export class CommitUnknownError extends DatabaseError {
  constructor(cause: unknown) {
    const cure = 'the outcome is unknown, so look for the effect before trying again';
    super('COMMIT_UNKNOWN', `the connection broke during COMMIT; ${cure}`, { cause });
  }
}

export class DatabaseClosedError extends DatabaseError {
  constructor() {
    super('DATABASE_CLOSED', 'the database is not open: it was stopped or has not started yet');
  }
}

export function invalidDatabaseUrl(reason: string): DatabaseError {
  return new DatabaseError('DATABASE_URL_INVALID', `DATABASE_URL is not usable: ${reason}`, { fatal: true });
}

/** The schema was migrated by a newer build; running on it could destroy what this build does not know. */
export function schemaTooNew(found: number, known: number): DatabaseError {
  const message =
    `the database schema is at version ${found}, but this build knows versions up to ${known}; ` +
    'run the newer build, or restore a backup taken before its migration';
  return new DatabaseError('SCHEMA_TOO_NEW', message, { fatal: true, found, known });
}

/** The schema is older than this build needs and this process was told not to migrate. Another process may yet do it. */
export function schemaTooOld(found: number, known: number): DatabaseError {
  const message =
    `the database schema is at version ${found}, this build needs ${known}, and migrating is switched off here; ` +
    'start a process that may migrate first';
  return new DatabaseError('SCHEMA_TOO_OLD', message, { found, known });
}

export function databaseFileUnusable(
  path: string,
  problem: string,
  cure: string,
  cause?: unknown,
): DatabaseError {
  const message = `SQLite database ${path}: ${problem}; ${cure}`;
  return new DatabaseError('DATABASE_FILE', message, { fatal: true, path, cause });
}

export function databaseCorrupt(path: string, cause: unknown): DatabaseError {
  const message =
    `SQLite database ${path} is damaged or not a database; move it away and scan again, or restore a backup ` +
    '(with its -wal file)';
  return new DatabaseError('DATABASE_CORRUPT', message, { fatal: true, path, cause });
}

/** The database cannot be reached or does not let us in. Waiting may cure it. */
export function databaseUnavailable(what: string, cause: unknown): DatabaseError {
  const cure = 'check DATABASE_URL and that the server runs, is reachable and accepts the user';
  return new DatabaseError('DATABASE_UNAVAILABLE', `${what}; ${cure}`, { cause });
}

/** What this process told PostgreSQL of its limits, schema or read-only did not arrive. */
export function settingsNotInForce(found: string): DatabaseError {
  const message =
    `PostgreSQL does not keep to the settings of this process: ${found}; give DATABASE_URL the address of the server ` +
    'itself, or of a pooler in transaction or session mode (PgBouncer: pool_mode = transaction)';
  return new DatabaseError('SETTINGS_NOT_IN_FORCE', message, { fatal: true });
}

/** Another process held the write lock of SQLite for longer than the allowed wait. */
export function databaseBusy(waitedMs: number, cause: unknown): DatabaseError {
  const cure = 'end what holds the lock, or use PostgreSQL';
  const message = `the database stayed locked by another process for ${waitedMs} ms; ${cure}`;
  return new DatabaseError('DATABASE_BUSY', message, { waitedMs, cause });
}

/** The transaction lost against concurrent ones (serialization failure, deadlock) on every try. Nothing was written. */
export function transactionConflict(tries: number, cause: unknown): DatabaseError {
  const message = `the transaction conflicted with others ${tries} times; try again later`;
  return new DatabaseError('TRANSACTION_CONFLICT', message, { tries, cause });
}

/** Nothing was written. Try again when space was freed. */
export function diskFull(cause: unknown): DatabaseError {
  const message =
    "the database's disk is full, the transaction was rolled back; free space, then it is tried again";
  return new DatabaseError('DISK_FULL', message, { cause });
}

export function transactionTimeout(limitMs: number, cause?: unknown): DatabaseError {
  const message = `a transaction took longer than ${limitMs} ms and was rolled back; do less in one transaction`;
  return new DatabaseError('TRANSACTION_TIMEOUT', message, { limitMs, cause });
}

export function statementTimeout(cause: unknown): DatabaseError {
  const message =
    'a statement took longer than it may and was ended, its transaction rolled back; ask for less at once, or raise ' +
    'DATABASE_STATEMENT_TIMEOUT_MS';
  return new DatabaseError('STATEMENT_TIMEOUT', message, { cause });
}

/** The output folder holds the batches of another pipeline. Nothing was done; exit code 78. */
export const outputOwned = (folder: string, found: OutputOwner, wanted: OutputOwner): DatabaseError =>
  new DatabaseError(
    'OUTPUT_OWNED',
    `the output folder ${folder} holds the batches of pipeline ${found.pipeline.slice(0, 8)} (${found.database}); ` +
      `this is pipeline ${wanted.pipeline.slice(0, 8)} (${wanted.database}). Give each an output folder of its own, or go on ` +
      `with the data of the first; when nobody needs that any more, remove ${folder}/.millrace.json`,
    { fatal: true, folder, found, wanted },
  );

/** The database holds work for another destination. Nothing was done; exit code 78. */
export const pipelineMismatch = (id: string, found: Destination, wanted: Destination): DatabaseError =>
  new DatabaseError(
    'PIPELINE_MISMATCH',
    `this database holds pipeline ${id.slice(0, 8)}, which delivers to ${shownDestination(found)}; ` +
      `this process is configured for ${shownDestination(wanted)}. Give each destination a database of its own ` +
      '(a data folder, a SQLite file, or on PostgreSQL another ?schema=), or, when the destination itself moved, ' +
      'say so with `millrace pipeline --move-to`',
    { fatal: true, id, found, wanted },
  );
