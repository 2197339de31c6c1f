import { availableParallelism } from 'node:os';
import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Database, DatabaseModule, Pipeline } from '#database';
import { QueueManagerModule } from '#queue-manager';
import { LOGGER, METRICS, type Logger, type Metrics } from '#service';
import { threadFile, ThreadPool } from '#worker-pool';
import { AnalyzerConfig } from './analyzer.config.js';
import { AnalyzerService } from './analyzer.service.js';
import { BatchItems } from './batch-items.repository.js';
import { BatchReader } from './batch-reader.js';
import { destinationOf } from './destination.js';
import { HttpSink } from './http.sink.js';
import { ManifestService } from './manifest.service.js';
import { SINK, type Sink } from './sink.js';
import { WriteSink } from './write.sink.js';

const queues = BullModule.registerQueueAsync({
  name: QUEUE.fileAnalysis,
  inject: [AnalyzerConfig],
  useFactory: ({ ANALYSIS_QUEUE }: AnalyzerConfig) => ({ name: ANALYSIS_QUEUE }),
});

@Module({
  imports: [
    DatabaseModule.fromConfig({ inject: [AnalyzerConfig], useFactory: destinationOf }),
    QueueManagerModule.fromConfig(),
    queues,
  ],
  providers: [
    AnalyzerService,
    ManifestService,
    { provide: ThreadPool, inject: [AnalyzerConfig, LOGGER, METRICS], useFactory: createThreads },
    {
      provide: BatchReader,
      inject: [ThreadPool, Database, AnalyzerConfig],
      useFactory: (threads: ThreadPool, database: Database, { PATH_BASE }: AnalyzerConfig) =>
        new BatchReader(threads, new BatchItems(database), PATH_BASE),
    },
    { provide: SINK, inject: [AnalyzerConfig, Pipeline], useFactory: createSink },
  ],
})
export class AnalyzerModule {}

function createThreads(config: AnalyzerConfig, logger: Logger, metrics: Metrics): ThreadPool {
  return new ThreadPool({
    name: 'readers',
    file: threadFile(import.meta.url, './read-parts.thread.js'),
    logger,
    metrics,
    threads: Math.min(config.ANALYZER_CONCURRENCY, availableParallelism()),
    maxQueue: config.ANALYZER_CONCURRENCY,
  });
}

function createSink(config: AnalyzerConfig, pipeline: Pipeline): Sink {
  if (config.SINK === 'write')
    return new WriteSink({
      directory: config.OUTPUT_DIRECTORY,
      format: config.OUTPUT_FORMAT,
      mark: () => pipeline.row.id,
      shared: config.OUTPUT_SHARED,
    });
  return new HttpSink({
    // The configuration rule makes sure that the address is there.
    url: config.ANALYZER_URL ?? '',
    timeoutMs: config.ANALYZER_TIMEOUT_MS,
    keepResults: config.ANALYZER_KEEP_RESULTS,
    ...(config.ANALYZER_AUTHORIZATION && { authorization: config.ANALYZER_AUTHORIZATION }),
  });
}
