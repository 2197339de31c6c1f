import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import type { Destination } from '#contracts';
import { IDENTITY, LOGGER, METRICS, PIPELINE, type Identity, type Logger, type Metrics } from '#service';
import { DatabaseConfig } from './database.config.js';
import { Database, type DatabaseOptions } from './database.service.js';
import { Pipeline } from './pipeline.service.js';

interface Made<T> {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => T;
}

export interface DatabaseModuleOptions extends Made<DatabaseOptions | Promise<DatabaseOptions>> {
  /** For the app that knows where the pipeline delivers to. */
  destination?: Made<Destination>;
}

/** Gives every module the one Database of the process. It does not connect: the lifecycle starts and stops it. */
@Module({})
export class DatabaseModule {
  /** The wiring of every app: options from its DatabaseConfig. */
  static fromConfig(destination?: Made<Destination>): DynamicModule {
    return DatabaseModule.forRootAsync({
      ...(destination && { destination }),
      inject: [DatabaseConfig, LOGGER, METRICS, IDENTITY],
      useFactory: (config: DatabaseConfig, logger: Logger, metrics: Metrics, { app }: Identity) => ({
        url: config.DATABASE_URL,
        poolSize: config.DATABASE_POOL_SIZE,
        migrations: config.DATABASE_MIGRATIONS,
        applicationName: `millrace-${app}`,
        logger,
        metrics,
      }),
    });
  }

  static forRootAsync({ inject, useFactory, destination }: DatabaseModuleOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        {
          provide: Database,
          inject: inject ?? [],
          useFactory: async (...args: never[]) => new Database(await useFactory(...args)),
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
