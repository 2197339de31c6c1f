import { Choice, Int, List, OPTIONAL, Secret, Text, Url } from '#config';
import { FAULT, FAULT_FORM } from './fault-point.js';
import { LOG_LEVELS } from './logger.js';
import { isSecretPattern } from './secret-rules.js';

/** What every app is told about itself. */
export class ServiceConfig {
  @Text('Address to serve probes, metrics and APIs on. Loopback until you open it.', '127.0.0.1')
  HOST!: string;

  @Int('Port to serve on. 0 takes a free one and logs it.', 0, [0, 65_535])
  PORT!: number;

  @Choice('Least severe log lines to write.', 'info', LOG_LEVELS)
  LOG_LEVEL!: (typeof LOG_LEVELS)[number];

  @Choice('Log lines as JSON, or readable; `auto` is readable on a terminal.', 'auto', [
    'auto',
    'json',
    'pretty',
  ])
  LOG_FORMAT!: 'auto' | 'json' | 'pretty';

  @Text(
    'Name of this process in logs, claims and dead letters. Made from app, host and a random part unless given.',
    OPTIONAL,
    { matches: /^[\w.-]{1,100}$/, must: '1 to 100 letters, digits, dots, dashes or underscores' },
  )
  WORKER_ID?: string;

  @Int(
    'Milliseconds an orderly shutdown may take before the process exits by force.',
    5_000,
    [100, 3_600_000],
  )
  SHUTDOWN_TIMEOUT_MS!: number;

  @Int(
    'Milliseconds to wait for Redis and the database at start before giving up. 0 waits for ever, not ready.',
    0,
    [0, 86_400_000],
  )
  STARTUP_TIMEOUT_MS!: number;

  @Secret(
    'What a scraper of /metrics must send as `Authorization: Bearer`. Without it whoever reaches the port may read them. dlq-admin wants an API key instead.',
    OPTIONAL,
    { matches: /^[\x21-\x7e]{16,}$/, must: 'at least 16 printable characters without spaces' },
  )
  METRICS_KEY?: string;

  @Url(
    'Collector that spans are sent to (OpenTelemetry, OTLP over HTTP), such as `http://localhost:4318`. None are made unless given.',
    OPTIONAL,
  )
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;

  @List(
    'Patterns (RE2 syntax) of your own secrets, masked in logs and dead letters besides the well-known ones. Those with commas need the JSON file.',
    [],
    { each: isSecretPattern, must: 'a pattern in RE2 syntax that does not match the empty text' },
  )
  REDACT_PATTERNS!: string[];

  @Text(`Tests only: a fault at a named step, \`${FAULT_FORM}\`.`, OPTIONAL, {
    matches: FAULT,
    must: FAULT_FORM,
  })
  MILLRACE_FAULT?: string;
}
