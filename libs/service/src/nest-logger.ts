import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

/** Nest's own lines in our log. Its chatter at start is debug detail here. */
export function nestLogger(logger: Logger): LoggerService {
  const at =
    (level: 'debug' | 'warn' | 'error' | 'fatal' | 'trace') =>
    (message: unknown, ...rest: unknown[]) => {
      const context = rest.at(-1);
      logger[level]({ context, ...(message instanceof Error && { err: message }) }, String(message));
    };
  return {
    log: at('debug'),
    debug: at('trace'),
    verbose: at('trace'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}
