import { Module } from '@nestjs/common';
import { Database } from '#database';
import { RedisConfig } from '#redis';
import {
  CLOCK,
  IDENTITY,
  LOGGER,
  Metrics,
  PIPELINE,
  type Clock,
  type Identity,
  type Logger,
  type PipelineMark,
} from '#service';
import { DatabaseFences } from './database-fences.js';
import { LockConfig, lockSettings } from './lock.config.js';
import { LockService } from './lock.service.js';

/** Provides the one LockService of the process. It does not connect: the lifecycle starts and stops it. */
@Module({
  providers: [
    {
      provide: LockService,
      inject: [LockConfig, RedisConfig, Database, PIPELINE, IDENTITY, LOGGER, Metrics, CLOCK],
      useFactory: (
        config: LockConfig,
        redis: RedisConfig,
        database: Database,
        pipeline: PipelineMark,
        { workerId }: Identity,
        logger: Logger,
        metrics: Metrics,
        clock: Clock,
      ) =>
        new LockService({
          ...lockSettings(config, redis),
          keyPrefix: () => `${pipeline.prefixed(config.LOCK_KEY_PREFIX)}:`,
          fences: new DatabaseFences(database),
          ...{ workerId, logger, metrics, clock },
        }),
    },
  ],
  exports: [LockService],
})
export class LockingModule {}
