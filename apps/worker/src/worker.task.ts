import { Inject, Injectable, Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Lifecycle, LOGGER, tellParent, whenSaid, type Logger, type Task } from '#service';
import { ScanTask } from '../../producer/src/scan.task.js';

/**
 * The worker's life: it scans when its parent asks for it, and takes work in as soon as the parent says that there may be
 * some. Without a parent it works at once, and never scans. A scan that fails ends the process with its exit code: whoever
 * keeps it running decides what comes then.
 */
@Injectable()
export class WorkerTask implements Task {
  constructor(
    private readonly modules: ModuleRef,
    private readonly lifecycle: Lifecycle,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  run(signal: AbortSignal): Promise<number> {
    return Promise.race([this.scanWhenAsked(signal), this.workWhenAsked(signal)]);
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

  private async workWhenAsked(signal: AbortSignal): Promise<never> {
    await whenSaid(({ work = false }) => work, signal);
    if (!signal.aborted) await this.lifecycle.start();
    if (!signal.aborted) this.logger.info('worker started');
    return new Promise(() => {});
  }
}

@Module({ providers: [WorkerTask] })
export class WorkerModule {}
