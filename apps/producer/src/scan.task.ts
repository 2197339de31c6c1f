import { Inject, Injectable } from '@nestjs/common';
import { LockService, type Lease } from '#locking';
import {
  IDENTITY,
  LOGGER,
  newTrace,
  tellParent,
  traceId,
  type Identity,
  type Logger,
  type Service,
  type Task,
} from '#service';
import { locateRoot } from './root.js';
import { ProducerConfig } from './producer.config.js';
import { ScanRefusedError } from './producer.errors.js';
import { ScanFactory } from './scan.factory.js';

/**
 * The producer's whole life: one scan of one root under its lease. A second producer of the same root says so and ends
 * well. As a part of the app it is the first to stop, so that a scan in progress ends before its connections do.
 */
@Injectable()
export class ScanTask implements Task, Service {
  readonly name = 'scan';
  private running: Promise<unknown> = Promise.resolve();
  // Handed on by hand: on Node 20 an ambient trace taxes every promise of the scan.
  private readonly trace = newTrace();
  private readonly logger: Logger;

  constructor(
    private readonly config: ProducerConfig,
    private readonly locks: LockService,
    private readonly scans: ScanFactory,
    @Inject(IDENTITY) private readonly identity: Identity,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.logger = logger.child({ trace_id: traceId(this.trace) });
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    await this.running.catch(() => {});
  }

  run(signal: AbortSignal): Promise<number> {
    const run = this.runGuarded(signal);
    this.running = run;
    return run;
  }

  private async runGuarded(signal: AbortSignal): Promise<number> {
    try {
      return await this.scanUnderLease(signal);
    } catch (error) {
      if (!(error instanceof ScanRefusedError)) throw error;
      this.logger.fatal({ err: error, code: error.code }, error.message);
      tellParent({ failed: error.message });
      return error.exitCode;
    }
  }

  private async scanUnderLease(signal: AbortSignal): Promise<number> {
    const root = locateRoot(this.config.TARGET_DIRECTORY);
    const key = root.toString();
    const lease = await this.locks.acquire(key, { signal });
    if (!lease) {
      this.logger.info(
        { root: key },
        `could not acquire lock for ${key}: another producer is scanning it; nothing to do`,
      );
      return 0;
    }
    this.logger.info(
      { root: key, fence: lease.fence },
      `lock acquired for ${key} by ${this.identity.workerId}`,
    );
    return this.scanAndRelease(root, lease, signal);
  }

  private async scanAndRelease(root: Buffer, lease: Lease, signal: AbortSignal): Promise<number> {
    try {
      return await this.scans.create(root, lease, signal, this.trace).run();
    } finally {
      await lease.release();
    }
  }
}
