import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { QueueManager } from './queue-manager.js';
import type { QueueManagerOptions } from './queue-manager.options.js';

export interface QueueManagerAsyncOptions {
  inject?: FactoryProvider['inject'];
  useFactory: (...dependencies: never[]) => QueueManagerOptions | Promise<QueueManagerOptions>;
}

/** Provides one QueueManager for the whole app. The app's lifecycle starts and stops it. */
@Module({})
export class QueueManagerModule {
  static forRootAsync({ inject = [], useFactory }: QueueManagerAsyncOptions): DynamicModule {
    return {
      module: QueueManagerModule,
      global: true,
      providers: [
        {
          provide: QueueManager,
          inject,
          useFactory: async (...dependencies: never[]) => new QueueManager(await useFactory(...dependencies)),
        },
      ],
      exports: [QueueManager],
    };
  }
}
