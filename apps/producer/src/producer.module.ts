import { Module } from '@nestjs/common';
import { Database, DatabaseModule, Pipeline } from '#database';
import { DatabaseFences, LockConfig, LockingModule, lockSettings } from '#locking';
import { QueueManagerModule } from '#queue-manager';
import { RedisConfig } from '#redis';
import { ScanFactory } from './scan.factory.js';
import { ScanTask } from './scan.task.js';
import { ScanThreads } from './scan-threads.js';

@Module({
  imports: [
    DatabaseModule.fromConfig(),
    QueueManagerModule.fromConfig(),
    LockingModule.forRootAsync({
      inject: [LockConfig, RedisConfig, Database, Pipeline],
      useFactory: (locks: LockConfig, redis: RedisConfig, database: Database, pipeline: Pipeline) => ({
        ...lockSettings(locks, redis.REDIS_URL),
        keyPrefix: () => `${pipeline.prefixed(locks.LOCK_KEY_PREFIX)}:`,
        fences: new DatabaseFences(database),
      }),
    }),
  ],
  providers: [ScanTask, ScanFactory, ScanThreads],
})
export class ProducerModule {}
