import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import type { Destination } from '#contracts';
import { IDENTITY, LOGGER, PIPELINE, type Identity, type Logger, Metrics } from '#service';
import { DatabaseConfig } from './database.config.js';
import { Database } from './database.service.js';
import { Pipeline } from './pipeline.service.js';

/** Repositories of what is committed, over the source that Database connects, so that probes answer while that is away. */
const READ_SOURCE = TypeOrmModule.forRootAsync({
  inject: [Database],
  useFactory: ({ source }: Database) => ({ ...source.options, manualInitialization: true, source }),
  dataSourceFactory: async (options) => (options as unknown as { source: DataSource }).source,
});

interface Made<T> {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => T;
}

/**
 * Gives every module the one Database of the process, and TypeORM's repositories of what is committed (`forFeature`). It does
 * not connect: the lifecycle starts and stops it.
 */
@Module({})
export class DatabaseModule {
  /** `destination`: for the app that knows where the pipeline delivers to. */
  static fromConfig(destination?: Made<Destination>): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [READ_SOURCE],
      providers: [
        {
          provide: Database,
          inject: [DatabaseConfig, LOGGER, Metrics, IDENTITY],
          useFactory: createDatabase,
        },
        {
          provide: Pipeline,
          inject: [Database, ...(destination?.inject ?? [])],
          useFactory: (database: Database, ...args: never[]) =>
            new Pipeline(database, destination?.useFactory(...args)),
        },
        { provide: PIPELINE, useExisting: Pipeline },
      ],
      exports: [Database, Pipeline, PIPELINE],
    };
  }
}

function createDatabase(
  config: DatabaseConfig,
  logger: Logger,
  metrics: Metrics,
  { app }: Identity,
): Database {
  return new Database({
    url: config.DATABASE_URL,
    readUrl: config.READ_DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    migrations: config.DATABASE_MIGRATIONS,
    applicationName: `millrace-${app}`,
    logger,
    metrics,
  });
}
