import { Global, Module } from '@nestjs/common';
import { LOGGER, type Logger } from '#service';
import { ThreadSet } from '#worker-pool';
import { BatcherConfig } from '../../batcher/src/batcher.config.js';

/**
 * One set of threads for all roles: to list, to read and to render take turns on as many threads as there are processors. A set
 * for each role would load and compile the same code again, which is most of what a short run costs.
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
