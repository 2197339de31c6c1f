import type { LoggerService } from '@nestjs/common';
import { pino, destination, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { redactSecrets } from './redaction.js';
import { currentTrace, traceId } from './trace.js';

export type Logger = PinoLogger;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

interface LoggerOptions {
  service: string;
  workerId: string;
  level: (typeof LOG_LEVELS)[number];
  /** Readable lines for a terminal instead of JSON. */
  pretty?: boolean;
  /** Where lines go; standard output unless a test gives its own. */
  stream?: DestinationStream;
  onDrop?: (lines: number) => void;
}

// A reader that stops reading must not stop the pipeline: past this many bytes in memory, lines are dropped and counted.
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

/** JSON lines with service, worker id and the trace id of the running work. Known secret shapes are masked. */
export function createLogger(options: LoggerOptions): Logger {
  const { service, workerId, level } = options;
  const stream = options.stream ?? standardOutput(options);
  return pino(
    {
      level,
      base: { service, worker_id: workerId },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redactSecrets },
      serializers: { err: errorWithCauses },
      mixin: () => {
        const trace = currentTrace();
        return trace ? { trace_id: traceId(trace) } : {};
      },
    },
    stream,
  );
}

/** For libs and tests that have nowhere to log. */
export const silentLogger: Logger = pino({ level: 'silent' });

function standardOutput({ pretty, onDrop }: LoggerOptions): DestinationStream {
  const out = destination({ dest: 1, sync: false, maxLength: MAX_BUFFERED_BYTES });
  out.on('drop', () => onDrop?.(1));
  if (!pretty) return out;
  const format = prettyFactory({ colorize: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => void out.write(format(JSON.parse(line, withoutControls))) };
}

/** Readable lines decode what JSON escapes: a newline in a name would begin a line of its own. Stacks are indented lines. */
export function withoutControls(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return value.replace(/\p{Cc}/gu, (char) =>
    key === 'stack' && char === '\n'
      ? char
      : JSON.stringify(char)
          .slice(1, -1)
          .replace(/^[^\\].*$/s, '?'),
  );
}

function errorWithCauses(error: unknown): unknown {
  return error instanceof Error
    ? redactSecrets(pino.stdSerializers.err(error) as unknown as Record<string, unknown>)
    : error;
}

/** Nest's own lines in our log. Its chatter at start is debug detail here. */
export function nestLogger(logger: Logger): LoggerService {
  const at =
    (level: 'debug' | 'warn' | 'error' | 'fatal' | 'trace') =>
    (message: unknown, ...rest: unknown[]) => {
      const context = rest.at(-1);
      logger[level]({ context, ...(message instanceof Error && { err: message }) }, String(message));
    };
  const [debug, warn, error, fatal] = [at('trace'), at('warn'), at('error'), at('fatal')];
  return { log: at('debug'), debug, verbose: debug, warn, error, fatal };
}
