import 'reflect-metadata';
import { Module, type INestApplication, type ModuleMetadata, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import type { ConfigGroups, Configuration } from '#config';
import { configOrExit, type Program } from './command-line.js';
import { errorCode, EXIT, isRefusal, messageOf } from './errors.js';
import { armFault } from './fault-point.js';
import { Lifecycle } from './lifecycle.js';
import { createLogger, nestLogger, type Logger } from './logger.js';
import { Metrics } from './metrics.js';
import { redactAlso } from './redaction.js';
import { partsOf, type PartToken } from './parts.js';
import { hearParent, tellParent } from './parent.js';
import type { ServiceConfig } from './service.config.js';
import type { Service } from './service.js';
import { ServiceModule, type ProcessContext } from './service.module.js';
import { Shutdown } from './shutdown.js';
import { mapStacks } from './source-maps.js';
import { startTracing, stopTracing } from './tracing.js';

type AppGroups = ConfigGroups & { service: typeof ServiceConfig };

/** Work that ends by itself; its result is the exit code. */
export interface Task {
  run(signal: AbortSignal): Promise<number>;
}

interface AppDefinition<G extends AppGroups> extends Program<G> {
  /** The modules of the app, and those of the stores that they share. */
  imports: NonNullable<ModuleMetadata['imports']>;
  /** The parts in the order in which they start, by injection token; they stop in reverse. */
  services: readonly PartToken[];
  /** Those that start after them when the task wants them (`Lifecycle.start`). */
  later?: readonly PartToken[];
  /** For apps that run to completion. */
  task?: Type<Task> | symbol | string;
  /** Before the server listens: middleware, pipes, documents. */
  configure?: (app: INestApplication, config: Configuration<G>) => void | Promise<void>;
}

/** Nobody holds a connection open by being slow, and nobody takes all of them. Given before the server listens. */
export const SERVER_BOUNDS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 15_000,
  // Node looks for slow clients only so often, by default every 30 s; read when the server begins to listen.
  connectionsCheckingInterval: 1_000,
  maxConnections: 1_000,
  maxRequestsPerSocket: 10_000,
};

/**
 * Runs an app from its configuration to its exit code. Probes answer from the first moment; parts start in order while
 * the process is alive and not ready; a signal, an uncaught error or the end of the task shuts down in order.
 */
export async function runApp<G extends AppGroups>(definition: AppDefinition<G>): Promise<void> {
  mapStacks();
  const { name, task } = definition;
  const config = await configOrExit(definition);
  const context = createContext(name, config.service);
  const { logger } = context;
  let shutdown = new Shutdown({ logger, timeoutMs: 1_000, stop: async () => {} });
  hearParent();
  try {
    const { SHUTDOWN_TIMEOUT_MS: timeoutMs, OTEL_EXPORTER_OTLP_ENDPOINT: collector } = config.service;
    if (collector) await startTracing(collector, name);
    const { app, lifecycle } = await createApp(definition, config, context);
    shutdown = new Shutdown({ logger, timeoutMs, stop: () => stopAll(lifecycle, app) });
    shutdown.listen();
    await listen(name, app, config.service, logger);
    await lifecycle.start(definition.services.length);
    if (lifecycle.state === 'started') logger.info(`${name} started`);
    if (!task || lifecycle.signal.aborted) return;
    await shutdown.begin('task ended', await app.get<Task>(task, { strict: false }).run(lifecycle.signal));
  } catch (error) {
    logger.fatal({ err: error }, messageOf(error));
    tellParent({ failed: messageOf(error) });
    await shutdown.begin('failed', exitCodeOf(error));
  }
}

function createContext(app: string, config: ServiceConfig): ProcessContext {
  redactAlso(config.REDACT_PATTERNS);
  armFault(config.MILLRACE_FAULT);
  const metrics = new Metrics();
  metrics.collectProcess();
  metrics.tellBuild(app);
  const dropped = metrics.counter({
    name: 'millrace_log_lines_dropped_total',
    help: 'Log lines dropped because nobody read them.',
  });
  // Stable for the life of the process, unique across restarts unless the operator names it.
  const host = hostname().replace(/[^\w.-]/g, '-');
  const workerId = config.WORKER_ID ?? `${app}-${host}-${randomBytes(4).toString('hex')}`;
  const { LOG_FORMAT: format, LOG_LEVEL: level } = config;
  const pretty = format === 'pretty' || (format === 'auto' && process.stdout.isTTY === true);
  const onDrop = (lines: number): void => dropped.inc(lines);
  const logger = createLogger({ service: app, workerId, level, pretty, onDrop });
  return { logger, metrics, identity: { app, workerId } };
}

@Module({})
class RootModule {}

/** An app that neither listens nor has started a part: what `runApp` runs, and what a test holds in its own process. */
export async function createApp<G extends AppGroups>(
  definition: Pick<AppDefinition<G>, 'config' | 'imports' | 'services' | 'later' | 'configure'>,
  config: Configuration<G>,
  context: ProcessContext,
): Promise<{ app: INestApplication; lifecycle: Lifecycle }> {
  const { logger } = context;
  const parts: Service[] = [];
  const lifecycle = new Lifecycle(parts, { logger, startupTimeoutMs: config.service.STARTUP_TIMEOUT_MS });
  const shared = ServiceModule.forRoot(context, lifecycle, definition.config, config);
  const app = await NestFactory.create(
    { module: RootModule, imports: [shared, ...definition.imports] },
    { logger: nestLogger(logger), abortOnError: false },
  );
  Object.assign(app.getHttpServer() as Server, SERVER_BOUNDS);
  parts.push(...partsOf(app, [...definition.services, ...(definition.later ?? [])]));
  await definition.configure?.(app, config);
  return { app, lifecycle };
}

async function stopAll(lifecycle: Lifecycle, app: INestApplication): Promise<void> {
  await lifecycle.stop();
  await app.close();
  await stopTracing();
}

async function listen(
  name: string,
  app: INestApplication,
  { PORT, HOST: host }: ServiceConfig,
  logger: Logger,
): Promise<void> {
  (app.getHttpAdapter().getInstance() as { disable(setting: string): void }).disable('x-powered-by');
  await app.listen(PORT, host);
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  tellParent({ port });
  logger.info({ port, host }, `${name} listening`);
}

function exitCodeOf(error: unknown): number {
  if (isRefusal(error)) return EXIT.config;
  const unavailable = ['STARTUP_TIMEOUT', 'EADDRINUSE', 'EADDRNOTAVAIL'].includes(errorCode(error) ?? '');
  return unavailable ? EXIT.unavailable : EXIT.failed;
}
