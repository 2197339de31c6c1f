import { Module, type DynamicModule, type FactoryProvider } from '@nestjs/common';
import { RedisConfig } from '#redis';
import {
  IDENTITY,
  LOGGER,
  METRICS,
  PIPELINE,
  type Identity,
  type Logger,
  type Metrics,
  type PipelineMark,
} from '#service';
import { QueueManager } from './queue-manager.js';
import type { QueueManagerOptions } from './queue-manager.options.js';

export interface QueueManagerAsyncOptions {
  inject?: FactoryProvider['inject'];
  useFactory: (...dependencies: never[]) => QueueManagerOptions | Promise<QueueManagerOptions>;
}

/** Provides one QueueManager for the whole app. The app's lifecycle starts and stops it. */
@Module({})
export class QueueManagerModule {
  /** The wiring of every app: options from its RedisConfig. */
  static fromConfig(): DynamicModule {
    return QueueManagerModule.forRootAsync({
      inject: [RedisConfig, LOGGER, METRICS, IDENTITY, PIPELINE],
      useFactory: (
        config: RedisConfig,
        logger: Logger,
        metrics: Metrics,
        { workerId }: Identity,
        pipeline: PipelineMark,
      ) => ({
        url: config.REDIS_URL,
        prefix: () => pipeline.prefixed(config.REDIS_PREFIX),
        deadLetterQueue: config.DLQ_NAME,
        evictionPolicy: config.REDIS_EVICTION_POLICY,
        attempts: config.JOB_ATTEMPTS,
        breaker: {
          failureThreshold: config.BREAKER_FAILURE_THRESHOLD,
          cooldownMs: config.BREAKER_COOLDOWN_MS,
        },
        haste: config.MILLRACE_TEST_HASTE,
        workerId,
        logger,
        metrics,
      }),
    });
  }

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
