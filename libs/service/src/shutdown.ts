import { EXIT } from './errors.js';
import type { Logger } from './logger.js';
import { within } from './sleep.js';

const FLUSH_MS = 500;

interface ShutdownOptions {
  logger: Logger;
  timeoutMs: number;
  /** Everything that must end, in order. */
  stop: () => Promise<void>;
  exit?: (code: number) => void;
}

/**
 * Ends the process in order, once, whoever asks and however often: signals, the end of a task, an error that nobody
 * caught. Past the timeout it exits by force with code 75; what was committed is intact either way.
 */
export class Shutdown {
  private begun: Promise<void> | undefined;

  constructor(private readonly options: ShutdownOptions) {}

  /**
   * SIGINT and SIGTERM end in order, and so does the end of a parent that holds a channel to this process; an unhandled
   * rejection or exception ends in order too, with code 70.
   */
  listen(): void {
    const orphaned = (): void => void this.begin('parent process ended', EXIT.ok);
    // False, not undefined: there was a channel, and it closed before we could listen.
    if (process.connected === false) orphaned();
    process.on('disconnect', orphaned);
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => void this.begin(signal, EXIT.ok));
    for (const event of ['unhandledRejection', 'uncaughtException'] as const)
      process.on(event, (error: unknown) => {
        this.options.logger.fatal({ err: error }, `${event}; shutting down`);
        void this.begin(event, EXIT.internal);
      });
  }

  begin(reason: string, code: number): Promise<void> {
    if (this.begun) this.options.logger.info({ reason }, 'already shutting down');
    this.begun ??= this.run(reason, code);
    return this.begun;
  }

  private async run(reason: string, code: number): Promise<void> {
    const { logger, timeoutMs, stop } = this.options;
    logger.info({ reason }, 'shutting down');
    const force = setTimeout(() => {
      logger.fatal(
        { timeout_ms: timeoutMs },
        'shutdown took too long (SHUTDOWN_TIMEOUT_MS); exiting by force',
      );
      void this.leave(EXIT.forced);
    }, timeoutMs);
    try {
      await stop();
      logger.info('shutdown complete');
    } catch (error) {
      logger.error({ err: error }, 'shutdown failed');
      code = code || EXIT.failed;
    }
    clearTimeout(force);
    await this.leave(code);
  }

  private async leave(code: number): Promise<void> {
    const flushed = new Promise<void>((resolve) => this.options.logger.flush(() => resolve()));
    // A log reader that does not read must not keep the process alive.
    await within(FLUSH_MS, flushed, () => {});
    (this.options.exit ?? process.exit)(code);
  }
}
