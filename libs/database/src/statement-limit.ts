/** What of a connection of sqlite3 is used here. Its statements run one after the other (`serialize`). */
export interface SqliteConnection {
  serialize(): void;
  interrupt(): void;
  all: Statement;
  run: Statement;
}

type Done = (this: unknown, ...outcome: unknown[]) => void;
type Statement = (sql: string, params: unknown, done: Done) => unknown;

/**
 * SQLite knows no limit for a statement: this one interrupts it from outside. A statement's time begins when the one before it
 * has ended. An interrupted write takes its transaction back with it, whole.
 */
export class StatementLimit {
  private waiting = 0;
  private since = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: SqliteConnection,
    private limitMs: number,
  ) {
    this.watch('all');
    this.watch('run');
  }

  /** Without a limit while `work` lasts: a migration of large tables takes what it takes. */
  async lifted<T>(work: () => Promise<T>): Promise<T> {
    const { limitMs } = this;
    this.limitMs = Infinity;
    try {
      return await work();
    } finally {
      this.limitMs = limitMs;
    }
  }

  private watch(verb: 'all' | 'run'): void {
    const statement = this.connection[verb].bind(this.connection);
    const ended = (): void => this.ended();
    this.connection[verb] = (sql, params, done) => {
      if (this.waiting++ === 0) this.begin();
      return statement(sql, params, function (...outcome) {
        ended();
        done.apply(this, outcome);
      });
    };
  }

  // One timer for many statements: most end long before it, and it then waits for the rest of the one that runs.
  private begin(): void {
    this.since = performance.now();
    if (Number.isFinite(this.limitMs)) this.timer ??= setTimeout(() => this.look(), this.limitMs).unref();
  }

  private ended(): void {
    if (--this.waiting > 0) this.begin();
  }

  private look(): void {
    this.timer = undefined;
    if (this.waiting === 0 || !Number.isFinite(this.limitMs)) return;
    const leftMs = this.limitMs - (performance.now() - this.since);
    if (leftMs <= 0) this.connection.interrupt();
    // After an interrupt, too: what queues behind is looked at again.
    this.timer = setTimeout(() => this.look(), leftMs > 0 ? leftMs : this.limitMs).unref();
  }
}
