import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Destination } from '#contracts';
import { IDENTITY, LOGGER, PIPELINE, type Identity, type Logger, Metrics } from '#service';
import { DatabaseConfig } from './database.config.js';
import { Database } from './database.service.js';
import { Pipeline } from './pipeline.service.js';
import { ReadSource } from './read-source.js';
import type { DatabaseOptions } from './store.js';

const OPTIONS = Symbol('database options');

/** Made with the container and connected by Database, so that probes answer while the database is away. */
const READ_SOURCE = TypeOrmModule.forRootAsync({
  inject: [OPTIONS],
  useFactory: (options: DatabaseOptions) => ({
    ...Database.sourceOptions(options),
    manualInitialization: true,
  }),
  dataSourceFactory: async (options) => new ReadSource(options as DataSourceOptions),
});

interface Made<T> {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => T;
}

const FROM_CONFIG: Made<DatabaseOptions> = {
  inject: [DatabaseConfig, LOGGER, Metrics, IDENTITY],
  useFactory: (config: DatabaseConfig, logger: Logger, metrics: Metrics, { app }: Identity) => ({
    url: config.DATABASE_URL,
    readUrl: config.READ_DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    migrations: config.DATABASE_MIGRATIONS,
    applicationName: `millrace-${app}`,
    logger,
    metrics,
  }),
};

/**
 * Gives every module the one Database of the process, and TypeORM's repositories of what is committed (`forFeature`). It does
 * not connect: the lifecycle starts and stops it.
 */
@Module({})
export class DatabaseModule {
  /** `destination`: for the app that knows where the pipeline delivers to. `options`: from its DatabaseConfig unless given. */
  static fromConfig(destination?: Made<Destination>, options = FROM_CONFIG): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      imports: [READ_SOURCE],
      providers: [
        { provide: OPTIONS, inject: [], ...options },
        {
          provide: Database,
          inject: [OPTIONS, DataSource],
          useFactory: (given: DatabaseOptions, source: ReadSource) => new Database(given, source),
        },
        {
          provide: Pipeline,
          inject: [Database, ...(destination?.inject ?? [])],
          useFactory: (database: Database, ...args: never[]) =>
            new Pipeline(database, destination?.useFactory(...args)),
        },
        { provide: PIPELINE, useExisting: Pipeline },
      ],
      exports: [OPTIONS, Database, Pipeline, PIPELINE],
    };
  }
}
