import { Global, Module } from '@nestjs/common';
import { LOGGER, type Logger } from '#service';
import { ThreadSet } from '#worker-pool';
import { BatcherConfig } from '../../batcher/src/batcher.config.js';

/**
 * One set of threads for the roles that read the tree: listing and counting take turns on as many threads as there are processors,
 * since each thread loads and compiles the same code again. Batches are written on threads of their own, so that a destination
 * that hangs holds up no reading.
 */
@Global()
@Module({
  providers: [{ provide: ThreadSet, inject: [BatcherConfig, LOGGER], useFactory: createThreads }],
  exports: [ThreadSet],
})
export class ThreadsModule {}

function createThreads({ BATCHER_THREADS, THREAD_MEMORY_MB }: BatcherConfig, logger: Logger): ThreadSet {
  return new ThreadSet({
    name: 'threads',
    logger,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
    ...(BATCHER_THREADS > 0 && { threads: BATCHER_THREADS }),
  });
}
