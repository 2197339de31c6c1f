import { cliLogger } from '../settings.js';
import type { DataDirectory } from '../fleet/data-directory.js';
import type { FleetPlan } from '../fleet/fleet.js';
import type { RunRequest } from './run-options.js';
import type { ServicePlaces } from './services.js';

/** Which apps a run starts and what it tells them. */
export function fleetPlan(
  request: RunRequest,
  data: DataDirectory,
  { redisUrl, databaseUrl }: ServicePlaces,
  admin: { port: number; key: string },
): FleetPlan {
  const { options, batchers, directory, out } = request;
  const env = {
    REDIS_URL: redisUrl,
    DATABASE_URL: databaseUrl,
    ...given('MAX_BATCH_TOKENS', options.maxTokens),
    ...given('ENCODING', options.encoding),
    EXCLUDE_PATHS: [out, data.path].join(','),
  };
  const envelope = {
    SINK: options.url ? 'http' : 'write',
    OUTPUT_FORMAT: options.format,
    PATH_BASE: directory,
  };
  const batcher = { app: 'batcher', count: batchers, env: envelope } as const;
  if (options.dryRun) return { data, env, logger: cliLogger(), apps: [batcher] };
  const target: Record<string, string> = options.url
    ? { ANALYZER_URL: options.url }
    : { OUTPUT_DIRECTORY: out };
  return {
    data,
    env,
    logger: cliLogger(),
    apps: [
      { app: 'dlq-admin', count: 1, env: { PORT: String(admin.port), ADMIN_KEY: admin.key } },
      { app: 'analyzer', count: 1, env: { ...envelope, ...target } },
      { app: 'outbox-publisher', count: 1 },
      batcher,
    ],
  };
}

export function producerEnvironment({ directory, options }: RunRequest): Record<string, string> {
  return {
    TARGET_DIRECTORY: directory,
    ...given('INCLUDE', options.include?.join(',')),
    ...given('EXCLUDE', options.exclude?.join(',')),
    ...(options.allowMassRemoval && { ALLOW_MASS_REMOVAL: 'true' }),
  };
}

function given(key: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [key]: value };
}
