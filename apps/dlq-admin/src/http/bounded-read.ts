import type { Database, Work } from '#database';
import { ProblemError } from './problems.js';

const LIMIT_MS = 3_000;

/** Reads for a person who waits: a query that takes longer is given up, with advice, and costs the database no more. */
export async function boundedRead<T>(database: Database, work: Work<T>): Promise<T> {
  // SQLite has no such limit; its tables are small enough to be read whole within it.
  if (database.dialect === 'sqlite') return database.read(work);
  try {
    return await database.snapshot(async (manager) => {
      await manager.query(`SET LOCAL statement_timeout = ${LIMIT_MS}`);
      return work(manager);
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === '57014')) throw error;
    throw new ProblemError(
      503,
      'QUERY_TOO_SLOW',
      'the search took too long; narrow it by queue, status or time',
      {
        cause: error,
      },
    );
  }
}
