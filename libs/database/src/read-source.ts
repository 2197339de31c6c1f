import {
  DataSource,
  type EntityMetadata,
  type EntityTarget,
  type QueryRunner,
  type ReplicationMode,
} from 'typeorm';
import { DatabaseClosedError } from './database.errors.js';

/**
 * The data source of every injected repository. It is made before it connects, reads what is committed and refuses writes:
 * those go through `tx.withRepository(repository)` inside `Database.inTransaction`, where they are part of one commit.
 */
export class ReadSource extends DataSource {
  /** True from when the database was found to have our schema until it is stopped. */
  ready = false;
  /** What a query runner needs to keep its settings, where its session does not. */
  wrap: ((runner: QueryRunner) => QueryRunner) | undefined;

  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    return this.wrap ? this.wrap(runner) : runner;
  }

  /** Every repository asks this first, so it is where one that nobody connected yet is told. */
  override getMetadata(target: EntityTarget<object>): EntityMetadata {
    if (!this.ready) throw new DatabaseClosedError();
    return super.getMetadata(target);
  }
}
