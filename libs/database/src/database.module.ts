import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Destination } from '#contracts';
import { IDENTITY, LOGGER, PIPELINE, type Identity, type Logger, Metrics } from '#service';
import { DatabaseConfig } from './database.config.js';
import { Database } from './database.service.js';
import { Pipeline } from './pipeline.service.js';

interface Made<T> {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => T;
}

/**
 * Gives every module the one Database of the process, and TypeORM's repositories of what is committed (`forFeature`). It does
 * not connect: the lifecycle starts and stops it, so that probes answer while the database is away.
 */
@Module({})
export class DatabaseModule {
  /** `destination`: for the app that knows where the pipeline delivers to. */
  static fromConfig(destination?: Made<Destination>): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        {
          provide: Database,
          inject: [DatabaseConfig, LOGGER, Metrics, IDENTITY],
          useFactory: createDatabase,
        },
        { provide: DataSource, inject: [Database], useFactory: ({ source }: Database) => source },
        {
          provide: Pipeline,
          inject: [Database, ...(destination?.inject ?? [])],
          useFactory: (database: Database, ...args: never[]) =>
            new Pipeline(database, destination?.useFactory(...args)),
        },
        { provide: PIPELINE, useExisting: Pipeline },
      ],
      exports: [Database, DataSource, Pipeline, PIPELINE],
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
