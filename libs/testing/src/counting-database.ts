import { Database, type EntityManager, type TransactionOptions, type Work } from '#database';

export interface Statement {
  sql: string;
  params: unknown[];
}

type Ask = (sql: string, params: unknown[], ...rest: unknown[]) => unknown;

/** A database that remembers the statements that it is asked, COMMIT among them. */
export class CountingDatabase extends Database {
  private asked: Statement[] = [];
  private readonly noting = new Set<object>();

  async statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
    this.asked = [];
    await work();
    return this.asked.filter(({ sql }) => !sql.startsWith('BEGIN'));
  }

  override inTransaction<T>(work: Work<T>, options?: TransactionOptions): Promise<T> {
    return super.inTransaction((tx) => {
      const runner = tx.queryRunner as NonNullable<EntityManager['queryRunner']>;
      this.note(connectionOf(tx) ?? runner);
      return work(tx);
    }, options);
  }

  override read<T>(work: Work<T>): Promise<T> {
    return super.read((manager) => {
      const connection = connectionOf(manager);
      const asked = connection ? manager : (Object.create(manager) as EntityManager);
      this.note(connection ?? asked);
      return work(asked);
    });
  }

  private note(asked: object): void {
    if (this.noting.has(asked)) return;
    this.noting.add(asked);
    for (const verb of ['query', 'all', 'run']) this.noteVerb(asked as Record<string, Ask | undefined>, verb);
  }

  private noteVerb(asked: Record<string, Ask | undefined>, verb: string): void {
    const ask = asked[verb]?.bind(asked);
    if (ask)
      asked[verb] = (sql, params, ...rest) => {
        this.asked.push({ sql, params: params ?? [] });
        return ask(sql, params, ...rest);
      };
  }
}

/** That of SQLite, which is asked directly. */
function connectionOf(manager: EntityManager): object | undefined {
  return (manager.connection.driver as { databaseConnection?: object }).databaseConnection;
}
