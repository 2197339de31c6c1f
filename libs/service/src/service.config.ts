import { IsIn, IsInt, IsString, Matches, Max, Min } from 'class-validator';
import { Key } from '#config';
import { LOG_LEVELS } from './logger.js';

/** What every app is told about itself. */
export class ServiceConfig {
  @Key({
    meaning: 'Address to serve probes, metrics and APIs on. Loopback until you open it.',
    default: '127.0.0.1',
  })
  @IsString()
  HOST!: string;

  @Key({ meaning: 'Port to serve on. 0 takes a free one and logs it.', default: 0 })
  @IsInt()
  @Min(0)
  @Max(65_535)
  PORT!: number;

  @Key({ meaning: 'Least severe log lines to write.', default: 'info' })
  @IsIn(LOG_LEVELS)
  LOG_LEVEL!: (typeof LOG_LEVELS)[number];

  @Key({ meaning: 'Log lines as JSON, or readable; `auto` is readable on a terminal.', default: 'auto' })
  @IsIn(['auto', 'json', 'pretty'])
  LOG_FORMAT!: 'auto' | 'json' | 'pretty';

  @Key({
    meaning:
      'Name of this process in logs, claims and dead letters. Made from app, host and a random part unless given.',
    optional: true,
  })
  @Matches(/^[\w.-]{1,100}$/, {
    message: '$property must be 1 to 100 letters, digits, dots, dashes or underscores',
  })
  WORKER_ID?: string;

  @Key({
    meaning: 'Milliseconds an orderly shutdown may take before the process exits by force.',
    default: 5_000,
  })
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  SHUTDOWN_TIMEOUT_MS!: number;

  @Key({
    meaning:
      'Milliseconds to wait for Redis and the database at start before giving up. 0 waits for ever, not ready.',
    default: 0,
  })
  @IsInt()
  @Min(0)
  @Max(86_400_000)
  STARTUP_TIMEOUT_MS!: number;

  @Key({
    meaning: 'Tests only: stops the process at a named step, `<point>:<nth>:<kill|throw|hang|block>`.',
    optional: true,
  })
  @Matches(/^[a-z0-9.-]+:[1-9]\d*:(kill|throw|hang|block)$/, {
    message: '$property must be <point>:<nth>:<kill|throw|hang|block>',
  })
  MILLRACE_FAULT?: string;
}
