import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { LockingModule, LockService } from '#locking';
import { ProducerConfig } from './producer.config.js';
import { ScanTask } from './scan.task.js';
import { ScanThreads } from './scan-threads.js';

/** What the app starts besides the stores, in this order. */
export const PRODUCER_PARTS = [LockService, ScanTask];

@Module({
  imports: [
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
