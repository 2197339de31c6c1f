import { availableParallelism } from 'node:os';
import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { Pipeline } from '#database';
import { LOGGER, type Logger, Metrics } from '#service';
import { threadFile, ThreadPool } from '#worker-pool';
import { AnalyzerConfig, batchesAtOnce } from './analyzer.config.js';
import { AnalyzerService } from './analyzer.service.js';
import { BatchRenderer } from './batch-renderer.js';
import { HttpSink } from './http.sink.js';
import { ManifestService } from './manifest.service.js';
import { SINK, type Sink } from './sink.js';
import { WriteSink } from './write.sink.js';

const queues = BullModule.registerQueueAsync({
  name: QUEUE.fileAnalysis,
  inject: [AnalyzerConfig],
  useFactory: ({ ANALYSIS_QUEUE }: AnalyzerConfig) => ({ name: ANALYSIS_QUEUE }),
});

/** Its threads; by a name of its own, since a process may hold the threads of several apps. */
export const BATCH_READERS = Symbol('batch readers');

/** What the app starts besides the stores, in this order: the manifest is told of deliveries, so it stops after the analyzer. */
export const ANALYZER_PARTS = [BATCH_READERS, ManifestService, AnalyzerService];

@Module({
  imports: [queues],
  providers: [
    AnalyzerService,
    ManifestService,
    { provide: BATCH_READERS, inject: [AnalyzerConfig, LOGGER, Metrics], useFactory: createThreads },
    { provide: SINK, inject: [AnalyzerConfig, Pipeline, BATCH_READERS, Metrics], useFactory: createSink },
  ],
})
export class AnalyzerModule {}

/** An analyser may think for minutes. */
const ANALYSER_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Reading and writing take a quarter of the time that counting the same files took, and a thread more is 0.1 s to start. */
const THREADS_PER_CORE = 0.5;

function createThreads(config: AnalyzerConfig, logger: Logger, metrics: Metrics): ThreadPool {
  return new ThreadPool({
    name: 'batch-readers',
    file: threadFile(import.meta.url, './render-batch.thread.js'),
    logger,
    metrics,
    threads: Math.min(batchesAtOnce(config), Math.ceil(availableParallelism() * THREADS_PER_CORE)),
    maxQueue: batchesAtOnce(config),
  });
}

function createSink(config: AnalyzerConfig, pipeline: Pipeline, threads: ThreadPool, metrics: Metrics): Sink {
  const renderer = new BatchRenderer(threads, config.PATH_BASE);
  if (config.SINK === 'write')
    return new WriteSink(renderer, {
      directory: config.OUTPUT_DIRECTORY,
      format: config.OUTPUT_FORMAT,
      mark: () => pipeline.row.id,
      shared: config.OUTPUT_SHARED,
    });
  const latency = metrics.histogram({
    name: 'millrace_analyser_duration_seconds',
    help: 'Time from sending a batch to the analyser until its answer was read.',
    labels: ['answer'],
    buckets: ANALYSER_SECONDS,
  });
  return new HttpSink(renderer, {
    onAnswer: (answer, seconds) => latency.observe({ answer }, seconds),
    // The configuration rule makes sure that the address is there.
    url: config.ANALYZER_URL ?? '',
    timeoutMs: config.ANALYZER_TIMEOUT_MS,
    keepResults: config.ANALYZER_KEEP_RESULTS,
    ...(config.ANALYZER_AUTHORIZATION && { authorization: config.ANALYZER_AUTHORIZATION }),
  });
}
