import { Module } from '@nestjs/common';
import { Database, DatabaseModule } from '#database';
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
      inject: [LockConfig, RedisConfig, Database],
      useFactory: (locks: LockConfig, redis: RedisConfig, database: Database) => ({
        ...lockSettings(locks, redis.REDIS_URL),
        fences: new DatabaseFences(database),
      }),
    }),
  ],
  providers: [ScanTask, ScanFactory, ScanThreads],
})
export class ProducerModule {}
