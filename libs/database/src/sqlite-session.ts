/** What of a connection of sqlite3 is used here. */
export interface SqliteConnection {
  all: Run;
  run: Run;
  prepare(sql: string, failed: (error: Error | null) => void): Statement;
  interrupt(): void;
  close(done: (error: Error | null) => void): void;
}

interface Statement extends Record<Verb, (params: unknown, done: Done) => void> {
  finalize(): void;
}

type Verb = 'all' | 'run';
type Done = (this: unknown, error: Error | null, rows?: unknown) => void;
type Run = (sql: string, params: unknown, done: Done) => void;

const KEPT_STATEMENTS = 200;
// What is bound stays in memory with the statement; beside the work on so much, preparing it costs nothing.
const KEPT_CHARACTERS = 64 * 1024;
// A `run` that has rows ends at the first and stays open, which would hold up COMMIT: only `all` goes through all of them.
const KEPT = {
  all: /^(SELECT|INSERT|UPDATE|DELETE|WITH|BEGIN|COMMIT)\b/,
  run: /^(INSERT|UPDATE|DELETE)\b(?!.*\bRETURNING\b)/s,
};

/**
 * The statements of one connection, TypeORM's too. They run one after the other: more at once would wait for the connection's mutex
 * in threads of the pool that file I/O needs. Frequent ones stay prepared, which is most of their cost, until the connection
 * closes or they fail. Each has a time limit, which SQLite does not know: it is interrupted from outside, and an
 * interrupted write takes its transaction back with it, whole.
 */
export class SqliteSession {
  private readonly prepared = new Map<string, Statement>();
  private readonly waiting: (() => void)[] = [];
  private running = false;
  private since = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly limitMs: () => number,
  ) {
    const close = connection.close.bind(connection);
    connection.all = (...task) => this.add(() => this.execute('all', ...task));
    connection.run = (...task) => this.add(() => this.execute('run', ...task));
    connection.close = (done) => this.add(() => this.finish(() => close(done)));
  }

  private add(task: () => void): void {
    this.waiting.push(task);
    if (!this.running) this.next();
  }

  private next(): void {
    const task = this.waiting.shift();
    this.running = task !== undefined;
    task?.();
  }

  private execute(verb: Verb, sql: string, params: unknown, done: Done): void {
    this.startLimit();
    const isKept = KEPT[verb].test(sql) && !isLarge(params);
    const ended = (statement: unknown, error: Error | null, rows?: unknown): void => {
      if (error || !isKept) this.forget(sql);
      this.next();
      done.call(statement, error, rows);
    };
    try {
      this.statement(sql, (error) => ended(undefined, error))[verb](params, function (error, rows) {
        ended(this, error, rows);
      });
    } catch (error) {
      // What cannot be bound is told at once; those behind must not wait for it for ever.
      ended(undefined, error as Error);
    }
  }

  /** What is not finalized keeps a connection from closing. */
  private finish(close: () => void): void {
    for (const sql of this.prepared.keys()) this.forget(sql);
    close();
    this.next();
  }

  /** The driver tells of a statement that cannot be prepared here, and never where it is run. */
  private statement(sql: string, refused: (error: Error) => void): Statement {
    let statement = this.prepared.get(sql);
    if (statement) return statement;
    const [oldest] = this.prepared.size === KEPT_STATEMENTS ? this.prepared.keys() : [];
    if (oldest !== undefined) this.forget(oldest);
    statement = this.connection.prepare(sql, (error) => error && refused(error));
    this.prepared.set(sql, statement);
    return statement;
  }

  private forget(sql: string): void {
    this.prepared.get(sql)?.finalize();
    this.prepared.delete(sql);
  }

  // One timer for many statements: most end long before it, and it then waits for the rest of the one that runs.
  private startLimit(): void {
    this.since = performance.now();
    if (Number.isFinite(this.limitMs())) this.timer ??= setTimeout(() => this.look(), this.limitMs()).unref();
  }

  private look(): void {
    this.timer = undefined;
    if (!this.running) return;
    const leftMs = this.limitMs() - (performance.now() - this.since);
    if (leftMs <= 0) this.connection.interrupt();
    // After an interrupt, too: what queues behind is looked at again.
    this.timer = setTimeout(() => this.look(), leftMs > 0 ? leftMs : this.limitMs()).unref();
  }
}

function isLarge(params: unknown): boolean {
  return (
    Array.isArray(params) &&
    params.some((value) => typeof value === 'string' && value.length > KEPT_CHARACTERS)
  );
}
