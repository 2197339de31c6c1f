import { Database, type EntityManager, type TransactionOptions, type Work } from '#database';

export interface Statement {
  sql: string;
  params: unknown[];
}

/** A database that remembers the statements that it is asked, COMMIT among them. */
export class CountingDatabase extends Database {
  private asked: Statement[] = [];

  async statementsOf(work: () => Promise<unknown>): Promise<Statement[]> {
    this.asked = [];
    await work();
    return this.asked;
  }

  override inTransaction<T>(work: Work<T>, options?: TransactionOptions): Promise<T> {
    return super.inTransaction((tx) => {
      const runner = tx.queryRunner as NonNullable<EntityManager['queryRunner']>;
      runner.query = this.noted(runner.query.bind(runner)) as typeof runner.query;
      return work(tx);
    }, options);
  }

  override read<T>(work: Work<T>): Promise<T> {
    return super.read((manager) => {
      const noting = Object.create(manager) as EntityManager;
      noting.query = this.noted(manager.query.bind(manager)) as typeof manager.query;
      return work(noting);
    });
  }

  private noted<Rest extends unknown[]>(
    query: (sql: string, params?: unknown[], ...rest: Rest) => Promise<unknown>,
  ): typeof query {
    return (sql, params, ...rest) => {
      this.asked.push({ sql, params: params ?? [] });
      return query(sql, params, ...rest);
    };
  }
}
