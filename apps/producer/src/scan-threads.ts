import { Inject, Injectable } from '@nestjs/common';
import { availableParallelism } from 'node:os';
import { LOGGER, type Logger, Metrics, type Service } from '#service';
import { threadFile, ThreadPool } from '#worker-pool';
import { ProducerConfig } from './producer.config.js';

// A thread's garbage is short-lived; by default it may fill 50 MB before it is collected, in every thread.
const LIMITS = { maxYoungGenerationSizeMb: 12 };

/** The threads of a scan. They take longer to load than some scans last, so they load while the app connects. */
@Injectable()
export class ScanThreads implements Service {
  readonly name = 'scan threads';
  readonly pool: ThreadPool;

  constructor(config: ProducerConfig, @Inject(LOGGER) logger: Logger, metrics: Metrics) {
    this.pool = new ThreadPool({
      name: 'scan-threads',
      file: threadFile(import.meta.url, './scan.thread.js'),
      threads: config.THREADS ?? availableParallelism(),
      logger,
      metrics,
      resourceLimits: LIMITS,
      maxQueue: 10_000,
    });
  }

  /** Does not wait for them: what keeps a thread from loading, the first task tells. */
  async start(signal: AbortSignal): Promise<void> {
    this.pool.start(signal).catch(() => {});
  }

  async stop(): Promise<void> {
    await this.pool.close();
  }
}
