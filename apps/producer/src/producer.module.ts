import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Database, DatabaseModule, Pipeline } from '#database';
import { DatabaseFences, LockConfig, LockingModule, lockSettings } from '#locking';
import { QueueManagerModule } from '#queue-manager';
import { RedisConfig } from '#redis';
import { ProducerConfig } from './producer.config.js';
import { ScanTask } from './scan.task.js';
import { ScanThreads } from './scan-threads.js';

@Module({
  imports: [
    DatabaseModule.fromConfig(),
    QueueManagerModule.fromConfig(),
    BullModule.registerQueueAsync({
      name: QUEUE.filesToBatch,
      inject: [ProducerConfig],
      useFactory: ({ PATH_DISCOVERY_QUEUE }: ProducerConfig) => ({ name: PATH_DISCOVERY_QUEUE }),
    }),
    LockingModule.forRootAsync({
      inject: [LockConfig, RedisConfig, Database, Pipeline],
      useFactory: (locks: LockConfig, redis: RedisConfig, database: Database, pipeline: Pipeline) => ({
        ...lockSettings(locks, redis),
        keyPrefix: () => `${pipeline.prefixed(locks.LOCK_KEY_PREFIX)}:`,
        fences: new DatabaseFences(database),
      }),
    }),
  ],
  providers: [ScanTask, ScanThreads],
})
export class ProducerModule {}
