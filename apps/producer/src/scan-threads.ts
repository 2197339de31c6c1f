import { Inject, Injectable, Optional } from '@nestjs/common';
import { LOGGER, type Logger, Metrics } from '#service';
import { threadFile, ThreadPool, ThreadSet } from '#worker-pool';
import { ProducerConfig } from './producer.config.js';

// A thread's garbage is short-lived; by default it may fill 50 MB before it is collected, in every thread.
const LIMITS = { maxYoungGenerationSizeMb: 12 };

/** The threads of a scan. They take longer to load than some scans last, so they load while the app connects. */
@Injectable()
export class ScanThreads extends ThreadPool {
  constructor(
    config: ProducerConfig,
    @Inject(LOGGER) logger: Logger,
    metrics: Metrics,
    @Optional() set?: ThreadSet,
  ) {
    super({
      name: 'scan-threads',
      file: threadFile(import.meta.url, './scan.thread.js'),
      threads: config.THREADS,
      logger,
      metrics,
      resourceLimits: LIMITS,
      set,
      maxQueue: 10_000,
    });
  }

  /** Does not wait for them: what keeps a thread from loading, the first task tells. */
  override async start(signal: AbortSignal): Promise<void> {
    super.start(signal).catch(() => {});
  }
}
