import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { IDENTITY, LOGGER, METRICS, type Identity, type Logger, type Metrics } from '#service';
import { DatabaseConfig } from './database.config.js';
import { Database, type DatabaseOptions } from './database.service.js';

export interface DatabaseModuleOptions {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => DatabaseOptions | Promise<DatabaseOptions>;
}

/** Gives every module the one Database of the process. It does not connect: the lifecycle starts and stops it. */
@Module({})
export class DatabaseModule {
  /** The wiring of every app: options from its DatabaseConfig. */
  static fromConfig(): DynamicModule {
    return DatabaseModule.forRootAsync({
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

  static forRootAsync({ inject, useFactory }: DatabaseModuleOptions): DynamicModule {
    return {
      module: DatabaseModule,
      global: true,
      providers: [
        {
          provide: Database,
          inject: inject ?? [],
          useFactory: async (...args: never[]) => new Database(await useFactory(...args)),
        },
      ],
      exports: [Database],
    };
  }
}
