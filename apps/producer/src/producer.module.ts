import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { DatabaseModule } from '#database';
import { LockingModule } from '#locking';
import { QueueManagerModule } from '#queue-manager';
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
    LockingModule,
  ],
  providers: [ScanTask, ScanThreads],
})
export class ProducerModule {}
