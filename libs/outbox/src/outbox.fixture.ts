import { Database, execute } from '#database';
import { Metrics, silentLogger } from '#service';
import { testDatabase, type DatabaseKind } from '#testing';
import { appendAll, type NewEvent } from './index.js';

/** A database of one's own and what tests of the outbox do to it. */
export class OutboxRig {
  private constructor(
    readonly url: string,
    readonly database: Database,
    readonly stop: () => Promise<void>,
  ) {}

  static async start(kind: DatabaseKind): Promise<OutboxRig> {
    const place = await testDatabase(kind);
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    return new OutboxRig(place.url, database, async () => {
      await database.stop();
      await place.remove();
    });
  }

  empty(): Promise<void> {
    return this.database.inTransaction(async (tx) => {
      for (const table of ['outbox', 'inbox', 'batches', 'dead_letters'])
        await execute(tx, `DELETE FROM ${table}`);
    });
  }

  add(...events: Partial<NewEvent>[]): Promise<string[]> {
    return this.database.inTransaction((tx) =>
      appendAll(
        tx,
        events.map((event) => ({ queue: 'q', payload: {}, ...event })),
      ),
    );
  }

  sql(text: string, params: unknown[] = []): Promise<number> {
    return this.database.inTransaction((tx) => execute(tx, text, params));
  }
}
