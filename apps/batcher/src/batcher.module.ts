import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Database, RegisteredFiles } from '#database';
import { formatOf, writtenAs } from '#envelope';
import { IDENTITY, LOGGER, onScanned, systemClock, type Identity, type Logger, Metrics } from '#service';
import { tokenizerId } from '#tokens';
import { threadFile, ThreadPool } from '#worker-pool';
import { BatcherConfig } from './batcher.config.js';
import { BatcherMetrics } from './batcher.metrics.js';
import { BatcherService } from './batcher.service.js';
import { Batching, type WaitingFile } from './batching.js';
import { CommitRepository } from './committing/commit.repository.js';
import { Committer } from './committing/committer.js';
import { Duplicates } from './duplicates.js';
import { BestFitPacker } from './packing/best-fit-packer.js';
import type { Packer } from './packing/packer.js';
import { SequentialPacker } from './packing/sequential-packer.js';
import { CountedReader, REMEMBER_BYTES } from './reading/counted-reader.js';
import { oversizeBytes } from './reading/file-counter.js';
import { FileReader } from './reading/file-reader.js';
import { KnownContents } from './reading/known-contents.repository.js';
import type { ReadSettings } from './reading/read-outcome.js';
import { ReconcilerService } from './recovery/reconciler.service.js';

// After the scan only jobs that wait in the queue can come, and those come at once.
const LAST_QUIET_MS = 20;

const queues = BullModule.registerQueueAsync({
  name: QUEUE.filesToBatch,
  inject: [BatcherConfig],
  useFactory: ({ PATH_DISCOVERY_QUEUE }: BatcherConfig) => ({ name: PATH_DISCOVERY_QUEUE }),
});

/** Its threads; by a name of its own, since a process may hold the threads of several apps. */
export const READERS = Symbol('readers');

/** What the app starts besides the stores, in this order. */
export const BATCHER_PARTS = [READERS, BatcherService, ReconcilerService];

@Module({
  imports: [queues],
  providers: [
    BatcherService,
    ReconcilerService,
    { provide: READERS, inject: [BatcherConfig, LOGGER, Metrics], useFactory: createThreads },
    {
      provide: RegisteredFiles,
      inject: [Database],
      useFactory: (database: Database) => new RegisteredFiles(database),
    },
    {
      provide: FileReader,
      inject: [READERS, LOGGER],
      useFactory: (pool: ThreadPool, logger: Logger) => new FileReader(pool, logger),
    },
    {
      provide: KnownContents,
      inject: [Database, BatcherConfig],
      useFactory: (database: Database, config: BatcherConfig) =>
        new KnownContents(database, countedBy(config)),
    },
    {
      provide: CountedReader,
      inject: [FileReader, KnownContents, BatcherConfig],
      useFactory: (reader: FileReader, known: KnownContents, { MAX_BATCH_TOKENS }: BatcherConfig) =>
        new CountedReader(reader, known, oversizeBytes(MAX_BATCH_TOKENS)),
    },
    {
      provide: BatcherMetrics,
      inject: [Metrics, BatcherConfig],
      useFactory: (metrics: Metrics, config: BatcherConfig) =>
        new BatcherMetrics(metrics, config.MAX_BATCH_TOKENS),
    },
    {
      provide: Committer,
      inject: [Database, BatcherConfig, IDENTITY, LOGGER, BatcherMetrics],
      useFactory: createCommitter,
    },
    { provide: Batching, inject: [BatcherConfig, Committer], useFactory: createBatching },
    {
      provide: Duplicates,
      inject: [KnownContents, Batching],
      useFactory: (known: KnownContents, batching: Batching) =>
        new Duplicates({ known, parked: (change) => batching.parked(change) }),
    },
  ],
})
export class BatcherModule {}

function createThreads(config: BatcherConfig, logger: Logger, metrics: Metrics): ThreadPool {
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
    workerData: settings,
    resourceLimits: { maxOldGenerationSizeMb: config.THREAD_MEMORY_MB },
    abortGraceMs: 500,
    ...(config.BATCHER_THREADS > 0 && { threads: config.BATCHER_THREADS }),
  });
}

/** What a count holds for: contents that are rewritten have other tokens in each format. */
function countedBy(config: BatcherConfig): string {
  const { rewrites, extension } = formatOf(writtenAs(config));
  return `${tokenizerId(config.ENCODING)}${rewrites === 'never' ? '' : `+${extension}`}`;
}

function createCommitter(
  database: Database,
  config: BatcherConfig,
  { workerId }: Identity,
  logger: Logger,
  told: BatcherMetrics,
): Committer {
  const commits = new CommitRepository(database, {
    workerId,
    analysisQueue: config.ANALYSIS_QUEUE,
    maxTokens: config.MAX_BATCH_TOKENS,
    tokenizer: countedBy(config),
    rememberBytes: REMEMBER_BYTES,
  });
  return new Committer({
    logger,
    commit: (units) => commits.commit(units),
    onCommitted: (committed, units, seconds) => {
      told.committed(committed, units, seconds);
      for (const { id, items, tokens } of committed.batches)
        logger.info({ batch_id: id, files: items, tokens }, 'batch committed');
    },
  });
}

function createBatching(config: BatcherConfig, committer: Committer): Batching {
  let quietMs = config.BATCH_QUIET_MS;
  onScanned(() => (quietMs = Math.min(quietMs, LAST_QUIET_MS)));
  return new Batching({
    packer: createPacker(config),
    commit: (unit) => committer.commit(unit),
    batchTokens: formatOf(writtenAs(config)).batchTokens,
    concurrency: config.BATCHER_CONCURRENCY,
    lingerMs: config.BATCH_LINGER_MS,
    get quietMs() {
      return quietMs;
    },
    clock: systemClock,
  });
}

function createPacker(config: BatcherConfig): Packer<WaitingFile> {
  const limits = {
    maxTokens: config.MAX_BATCH_TOKENS - formatOf(writtenAs(config)).batchTokens,
    maxItems: config.MAX_BATCH_FILES,
  };
  return config.PACKING === 'sequential'
    ? new SequentialPacker(limits)
    : new BestFitPacker({ ...limits, openBins: config.OPEN_BINS });
}
