import { Database, DatabaseConfig } from '#database';
import { LockConfig, LockService } from '#locking';
import { QueueManager, RedisConfig } from '#queue-manager';
import { runApp } from '#service';
import { ProducerConfig, ProducerServiceConfig } from './producer.config.js';
import { ProducerModule } from './producer.module.js';
import { ScanTask } from './scan.task.js';

await runApp({
  name: 'producer',
  description: 'scans a directory to completion: registers every file and enqueues what is new or changed',
  config: {
    service: ProducerServiceConfig,
    redis: RedisConfig,
    database: DatabaseConfig,
    locks: LockConfig,
    producer: ProducerConfig,
  },
  module: ProducerModule,
  services: [Database, QueueManager, LockService, ScanTask],
  task: ScanTask,
});
