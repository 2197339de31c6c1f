import { BullModule, BullRegistrar } from '@nestjs/bullmq';
import { Module, type DynamicModule } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { breakerOf, RedisConfig } from '#redis';
import { IDENTITY, LOGGER, PIPELINE, type Identity, type Logger, Metrics, type PipelineMark } from '#service';
import { ProcessorWorker } from './job-processor.js';
import { JobQueue } from './job-queue.js';
import { QueueManager } from './queue-manager.js';

// Every queue and worker that @nestjs/bullmq makes is one of ours, with breaker, hand-back and fixed reliability settings.
BullModule.queueClass = JobQueue;
BullModule.workerClass = ProcessorWorker as never;

/**
 * Provides one QueueManager for the whole app; the app's lifecycle starts and stops it. Feature modules register their
 * queues with `BullModule.registerQueueAsync`; the dead-letter queue is registered here.
 */
@Module({})
export class QueueManagerModule {
  static fromConfig(): DynamicModule {
    const deadLetters = BullModule.registerQueueAsync({
      name: QUEUE.deadLetter,
      inject: [QueueManager],
      useFactory: ({ settings }: QueueManager) => ({ name: settings.deadLetterQueue }),
    });
    const bull = BullModule.forRootAsync({
      inject: [QueueManager],
      useFactory: (owner: QueueManager) => ({ owner, connection: owner.gate.client }),
      // Probes answer before Redis is there: workers are made when the manager starts.
      extraOptions: { manualRegistration: true },
    });
    const inject = [BullRegistrar, RedisConfig, LOGGER, Metrics, IDENTITY, PIPELINE];
    return {
      module: QueueManagerModule,
      global: true,
      imports: [deadLetters, bull],
      providers: [{ provide: QueueManager, inject, useFactory: createManager }],
      exports: [QueueManager, deadLetters],
    };
  }
}

function createManager(
  registrar: BullRegistrar,
  config: RedisConfig,
  logger: Logger,
  metrics: Metrics,
  { app, workerId }: Identity,
  pipeline: PipelineMark,
): QueueManager {
  const options = {
    url: config.REDIS_URL,
    prefix: () => pipeline.prefixed(config.REDIS_PREFIX),
    deadLetterQueue: config.DLQ_NAME,
    evictionPolicy: config.REDIS_EVICTION_POLICY,
    attempts: config.JOB_ATTEMPTS,
    breaker: breakerOf(config),
    haste: config.MILLRACE_TEST_HASTE ?? 1,
    ...{ app, workerId, logger, metrics },
  };
  return new QueueManager(options, registrar);
}
