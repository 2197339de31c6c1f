import 'reflect-metadata';
import {
  Module,
  type DynamicModule,
  type ForwardReference,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { configOrExit, type AppConfigurations, type ConfigGroups, type Configuration } from '#config';
import { errorCode } from './errors.js';
import { EXIT, isRefusal } from './exit-codes.js';
import { armFault } from './fault-point.js';
import { identify, type Identity } from './identity.js';
import { Lifecycle } from './lifecycle.js';
import { createLogger, nestLogger, type Logger } from './logger.js';
import { Metrics } from './metrics.js';
import { redactAlso } from './redaction.js';
import { partsOf, type PartToken } from './parts.js';
import { hearParent, tellParent } from './parent.js';
import type { ServiceConfig } from './service.config.js';
import type { Service } from './service.js';
import { ServiceModule } from './service.module.js';
import { boundServer } from './server-bounds.js';
import { Shutdown } from './shutdown.js';
import { mapStacks } from './source-maps.js';
import { startTracing, stopTracing } from './tracing.js';
import { usage } from './usage.js';

type AppGroups = ConfigGroups & { service: typeof ServiceConfig };
type Imported = Type | DynamicModule | ForwardReference;

/** Work that ends by itself; its result is the exit code. */
export interface Task {
  run(signal: AbortSignal): Promise<number>;
}

interface AppDefinition<G extends AppGroups> {
  name: string;
  description: string;
  config: G;
  /** All apps that may share a configuration file with this one. */
  apps?: AppConfigurations;
  /** The modules of the app, and those of the stores that they share. */
  imports: readonly Imported[];
  /** The parts in the order in which they start, by injection token; they stop in reverse. */
  services: readonly PartToken[];
  /** For apps that run to completion. */
  task?: Type<Task> | symbol | string;
  /** Exit codes of its own, with their meaning, for `--help`. */
  exitCodes?: Readonly<Record<number, string>>;
  /** Before the server listens: middleware, pipes, documents. */
  configure?: (app: INestApplication, config: Configuration<G>) => void | Promise<void>;
}

/**
 * Runs an app from its configuration to its exit code. Probes answer from the first moment; parts start in order while
 * the process is alive and not ready; a signal, an uncaught error or the end of the task shuts down in order.
 */
export async function runApp<G extends AppGroups>(definition: AppDefinition<G>): Promise<void> {
  mapStacks();
  const argv = process.argv.slice(2);
  if (argv.includes('--help'))
    return void process.stdout.write(
      usage(definition.name, definition.description, definition.config, definition.exitCodes),
    );
  refuseUnknown(definition.name, argv);
  const config = await configOrExit(definition.config, argv, definition.apps);
  const context = createContext(definition.name, config.service);
  armFault(config.service.MILLRACE_FAULT);
  hearParent();
  const { OTEL_EXPORTER_OTLP_ENDPOINT: collector } = config.service;
  try {
    if (collector) await startTracing(collector, definition.name);
    await serve(definition, config, context);
  } catch (error) {
    context.logger.fatal({ err: error }, error instanceof Error ? error.message : String(error));
    tellParent({ failed: error instanceof Error ? error.message : String(error) });
    await new Shutdown({ ...context, timeoutMs: 1_000, stop: async () => {} }).begin(
      'failed to start',
      exitCodeOf(error),
    );
  }
}

interface Context {
  logger: Logger;
  metrics: Metrics;
  identity: Identity;
}

function createContext(app: string, config: ServiceConfig): Context {
  redactAlso(config.REDACT_PATTERNS);
  const metrics = new Metrics();
  metrics.collectProcess();
  metrics.tellBuild(app);
  const dropped = metrics.counter({
    name: 'millrace_log_lines_dropped_total',
    help: 'Log lines dropped because nobody read them.',
  });
  const identity = identify(app, config.WORKER_ID);
  const pretty =
    config.LOG_FORMAT === 'pretty' || (config.LOG_FORMAT === 'auto' && process.stdout.isTTY === true);
  const logger = createLogger({
    service: app,
    workerId: identity.workerId,
    level: config.LOG_LEVEL,
    pretty,
    onDrop: (lines) => dropped.inc(lines),
  });
  return { logger, metrics, identity };
}

@Module({})
class RootModule {}

async function serve<G extends AppGroups>(
  definition: AppDefinition<G>,
  config: Configuration<G>,
  context: Context,
): Promise<void> {
  const { logger } = context;
  const { app, lifecycle } = await createApp(definition, config, context);
  const timeoutMs = config.service.SHUTDOWN_TIMEOUT_MS;
  const shutdown = new Shutdown({ logger, timeoutMs, stop: () => stopAll(lifecycle, app) });
  shutdown.listen();
  const port = await listen(app, config.service);
  tellParent({ port });
  logger.info({ port, host: config.service.HOST }, `${definition.name} listening`);
  await runToEnd(definition, app, lifecycle, shutdown, logger);
}

/** An app that neither listens nor has started a part: what `runApp` runs, and what a test holds in its own process. */
export async function createApp<G extends AppGroups>(
  definition: Pick<AppDefinition<G>, 'config' | 'imports' | 'services' | 'configure'>,
  config: Configuration<G>,
  context: Context,
): Promise<{ app: INestApplication; lifecycle: Lifecycle }> {
  const { logger } = context;
  const parts: Service[] = [];
  const lifecycle = new Lifecycle(parts, { logger, startupTimeoutMs: config.service.STARTUP_TIMEOUT_MS });
  const shared = ServiceModule.forRoot({ ...context, lifecycle, groups: definition.config, config });
  const app = await NestFactory.create(
    { module: RootModule, imports: [shared, ...definition.imports] },
    { logger: nestLogger(logger), abortOnError: false },
  );
  boundServer(app.getHttpServer() as Server);
  parts.push(...partsOf(app, definition.services));
  await definition.configure?.(app, config);
  return { app, lifecycle };
}

async function runToEnd<G extends AppGroups>(
  { name, task }: AppDefinition<G>,
  app: INestApplication,
  lifecycle: Lifecycle,
  shutdown: Shutdown,
  logger: Logger,
): Promise<void> {
  try {
    await lifecycle.start();
    if (lifecycle.state === 'started') logger.info(`${name} started`);
    if (!task || lifecycle.signal.aborted) return;
    const code = await app.get<Task>(task, { strict: false }).run(lifecycle.signal);
    await shutdown.begin('task ended', code);
  } catch (error) {
    logger.fatal({ err: error }, error instanceof Error ? error.message : String(error));
    tellParent({ failed: error instanceof Error ? error.message : String(error) });
    await shutdown.begin('failed', exitCodeOf(error));
  }
}

async function stopAll(lifecycle: Lifecycle, app: INestApplication): Promise<void> {
  await lifecycle.stop();
  await app.close();
  await stopTracing();
}

async function listen(app: INestApplication, { PORT, HOST }: ServiceConfig): Promise<number> {
  (app.getHttpAdapter().getInstance() as { disable(setting: string): void }).disable('x-powered-by');
  await app.listen(PORT, HOST);
  const server = app.getHttpServer() as Server;
  return (server.address() as AddressInfo).port;
}

function refuseUnknown(name: string, argv: readonly string[]): void {
  const unknown = argv.filter((word) => word !== '--print-config');
  if (unknown.length === 0) return;
  process.stderr.write(`${name}: unknown argument ${unknown.join(' ')}; see ${name} --help\n`);
  process.exit(EXIT.usage);
}

function exitCodeOf(error: unknown): number {
  const code = errorCode(error);
  if (isRefusal(error)) return EXIT.config;
  return code === 'STARTUP_TIMEOUT' || code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL'
    ? EXIT.unavailable
    : EXIT.failed;
}
