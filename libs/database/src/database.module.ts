import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type OptionalFactoryDependency,
} from '@nestjs/common';
import { Database, type DatabaseOptions } from './database.service.js';

export interface DatabaseModuleOptions {
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...args: never[]) => DatabaseOptions | Promise<DatabaseOptions>;
}

/** Gives every module the one Database of the process. It does not connect: the lifecycle starts and stops it. */
@Module({})
export class DatabaseModule {
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
