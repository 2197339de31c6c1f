import { Inject, Injectable, Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Lifecycle, LOGGER, tellParent, whenSaid, type Logger, type Service, type Task } from '#service';
import type { ThreadPool } from '#worker-pool';
import { BATCH_READERS } from '../../analyzer/src/analyzer.module.js';
import { READERS } from '../../batcher/src/reading/file-reader.js';
import { ScanTask } from '../../producer/src/scan.task.js';

/**
 * The worker's life: it scans when its parent asks for it, and takes work in as soon as the parent says that there may be
 * some. Without a parent it works at once, and never scans. A scan that fails ends the process with its exit code: whoever
 * keeps it running decides what comes then.
 */
@Injectable()
export class WorkerTask implements Task, Service {
  readonly name = 'word of the parent';

  constructor(
    private readonly modules: ModuleRef,
    private readonly lifecycle: Lifecycle,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Waits until something is asked for: until then the parent may refuse what we would open. Threads take longer to load than
   * some runs last: where there is work they load while the app connects. What keeps one from loading is told when its own part starts.
   */
  async start(signal: AbortSignal): Promise<void> {
    await whenSaid(({ scan = 0, work = false }) => scan > 0 || work, signal);
    void workIsSaid(signal).then(() => {
      for (const pool of signal.aborted ? [] : this.threads) pool.start(signal).catch(() => {});
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.threads.map((pool) => pool.stop()));
  }

  run(signal: AbortSignal): Promise<number> {
    return Promise.race([this.scanWhenAsked(signal), this.workWhenSaid(signal)]);
  }

  private async scanWhenAsked(signal: AbortSignal): Promise<number> {
    const task = this.modules.get(ScanTask, { strict: false });
    for (let ended = 0; ;) {
      const { scan = 0 } = await whenSaid((word) => (word.scan ?? 0) > ended, signal);
      const code = signal.aborted ? 0 : await task.run(signal);
      if (code !== 0 || signal.aborted) return code;
      ended = scan;
      tellParent({ scan });
    }
  }

  private async workWhenSaid(signal: AbortSignal): Promise<never> {
    await workIsSaid(signal);
    if (!signal.aborted) await this.lifecycle.start();
    if (!signal.aborted) this.logger.info('worker started');
    return new Promise(() => {});
  }

  private get threads(): ThreadPool[] {
    return [READERS, BATCH_READERS].map((token) => this.modules.get<ThreadPool>(token, { strict: false }));
  }
}

const workIsSaid = (signal: AbortSignal): Promise<unknown> => whenSaid(({ work = false }) => work, signal);

@Module({ providers: [WorkerTask] })
export class WorkerModule {}
