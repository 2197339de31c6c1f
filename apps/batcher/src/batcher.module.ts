import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { writtenAs } from '#envelope';
import { LOGGER, Metrics, type Logger } from '#service';
import { threadFile, ThreadPool, ThreadSet } from '#worker-pool';
import { Accumulator } from './accumulator.js';
import { BatcherConfig } from './batcher.config.js';
import { BatcherMetrics } from './batcher.metrics.js';
import { BatcherService } from './batcher.service.js';
import { CommitRepository } from './committing/commit.repository.js';
import { Duplicates } from './duplicates.js';
import { FileReader, READERS } from './reading/file-reader.js';
import type { ReadSettings } from './reading/read-outcome.js';
import { ReconcilerService } from './recovery/reconciler.service.js';

const queues = BullModule.registerQueueAsync({
  name: QUEUE.filesToBatch,
  inject: [BatcherConfig],
  useFactory: ({ PATH_DISCOVERY_QUEUE }: BatcherConfig) => ({ name: PATH_DISCOVERY_QUEUE }),
});

/** The threads of a process that also scans, where there is one. */
const SHARED = { token: ThreadSet, optional: true };

/** What the app starts besides the stores, in this order. */
export const BATCHER_PARTS = [READERS, BatcherService, ReconcilerService];

@Module({
  imports: [queues],
  providers: [
    ...[
      BatcherService,
      ReconcilerService,
      Accumulator,
      BatcherMetrics,
      CommitRepository,
      Duplicates,
      FileReader,
    ],
    { provide: READERS, inject: [BatcherConfig, LOGGER, Metrics, SHARED], useFactory: createThreads },
  ],
})
export class BatcherModule {}

function createThreads(config: BatcherConfig, logger: Logger, metrics: Metrics, set?: ThreadSet): ThreadPool {
  const settings: ReadSettings = {
    encoding: config.ENCODING,
    format: writtenAs(config),
    ...(config.PATH_BASE !== undefined && { pathBase: config.PATH_BASE }),
    maxTokens: config.MAX_BATCH_TOKENS,
    maxFileBytes: config.MAX_FILE_BYTES,
  };
  return new ThreadPool({
    name: 'readers',
    file: threadFile(import.meta.url, './reading/read.thread.js'),
    logger,
    metrics,
    set,
    data: settings,
    resourceLimits: { maxOldGenerationSizeMb: config.THREAD_MEMORY_MB },
    abortGraceMs: 500,
    ...(config.BATCHER_THREADS > 0 && { threads: config.BATCHER_THREADS }),
  });
}
