import sqlite3 from 'sqlite3';

/** What of a connection of sqlite3 is used here. Its statements run one after the other (`serialize`). */
export interface SqliteConnection {
  serialize(): void;
  interrupt(): void;
  all: RunStatement;
  run: RunStatement;
  close(done?: (error: Error | null) => void): void;
}

/** `this` is the statement: `changes` tells what a `run` changed. */
export type Done = (this: unknown, ...outcome: unknown[]) => void;
export type RunStatement = (sql: string, params: unknown, done: Done) => unknown;

interface Statement {
  all(params: unknown, done: Done): unknown;
  run(params: unknown, done: Done): unknown;
  finalize(): unknown;
}

const Statement = sqlite3.Statement as unknown as new (
  connection: SqliteConnection,
  sql: string,
  prepared: (error: Error | null) => void,
) => Statement;

const KEPT = 64;
// Run to its first row only, it would stay open, and hold on to what it reads.
const HAS_ROWS = /\bRETURNING\b|^\s*(?:SELECT|PRAGMA)\b/i;

/**
 * Keeps the statements of a connection that were run last: to prepare one takes longer than to run most. What a statement did
 * is told as before; one that failed is not kept.
 */
export class PreparedStatements {
  private readonly kept = new Map<string, Statement>();
  private closed = false;

  constructor(private readonly connection: SqliteConnection) {
    const close = connection.close.bind(connection);
    connection.all = (sql, params, done) => this.call('all', sql, params, done);
    connection.run = (sql, params, done) => this.call('run', sql, params, done);
    connection.close = (done) => {
      this.closed = true;
      this.keepAtMost(0);
      close(done);
    };
  }

  private call(verb: 'all' | 'run', sql: string, params: unknown, done: Done): void {
    const kept = this.kept.get(sql);
    const statement = kept ?? this.prepare(sql, done);
    this.kept.delete(sql);
    if (kept) this.kept.set(sql, kept);
    const ended = (error: unknown): void => {
      if (kept) return;
      const once = error || this.closed || this.kept.has(sql) || (verb === 'run' && HAS_ROWS.test(sql));
      if (once) return void statement.finalize();
      this.kept.set(sql, statement);
      this.keepAtMost(KEPT);
    };
    statement[verb](params, function (...outcome) {
      ended(outcome[0]);
      done.apply(this, outcome);
    });
  }

  /** When it cannot be prepared, that is all that is heard of it. */
  private prepare(sql: string, done: Done): Statement {
    const statement: Statement = new Statement(this.connection, sql, (error) => {
      if (error) done.call(statement, error);
    });
    return statement;
  }

  /** Those that were run longest ago go first, each after what it still has to do. */
  private keepAtMost(count: number): void {
    for (const [sql, statement] of this.kept) {
      if (this.kept.size <= count) return;
      this.kept.delete(sql);
      statement.finalize();
    }
  }
}
