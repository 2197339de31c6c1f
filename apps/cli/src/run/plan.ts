import { createServer } from 'node:net';
import { resolve } from 'node:path';
import type { Database } from '#database';
import { DEFAULT_ENCODING, tokenizerId, type EncodingName } from '#tokens';
import type { AppPlan, Environment } from '../fleet/child-app.js';
import { DATA_ROOT, outputsHere, type DataDirectory } from '../fleet/data-directory.js';
import type { FleetPlan } from '../fleet/fleet.js';
import { runConfig, scanConfig } from '../cli.config.js';
import { count } from '../output/table.js';
import type { RunRequest } from './run-options.js';
import type { ServicePlaces } from './begin.js';

const KEPT_ADMIN_PORT = 8080;

/** Which apps a run starts and what it tells them. */
export async function fleetPlan(
  request: RunRequest,
  data: DataDirectory,
  places: ServicePlaces,
  adminKey: string,
): Promise<FleetPlan> {
  const { url, keep } = request;
  const scan = await producerEnvironment(request, [request.out, data.path]);
  const env = {
    REDIS_URL: places.redisUrl,
    DATABASE_URL: places.databaseUrl,
    ...given('MAX_BATCH_TOKENS', request.maxTokens),
    ...given('ENCODING', request.encoding),
  };
  const envelope = {
    SINK: url ? 'http' : 'write',
    OUTPUT_FORMAT: request.format,
    PATH_BASE: request.directory,
  };
  const batchers = Array.from({ length: request.batchers }, (_, n): AppPlan => {
    return { app: 'batcher', label: request.batchers > 1 ? `batcher-${n + 1}` : 'batcher', env: envelope };
  });
  if (request.dryRun) return { data, env, scan, apps: batchers };
  const target: Environment = url ? { ANALYZER_URL: url } : { OUTPUT_DIRECTORY: request.out };
  const atStart = keep ? keptAdminPort : undefined;
  const admin = { app: 'dlq-admin', env: { ADMIN_KEY: adminKey }, atStart } as const;
  const delivery = { ...envelope, ...target };
  const apps: AppPlan[] = request.separate
    ? [admin, { app: 'analyzer', env: delivery }, { app: 'outbox-publisher' }, ...batchers]
    : [
        { ...admin, onDemand: true },
        { app: 'worker', env: { ...delivery, ...scan } },
      ];
  return { data, env, scan, apps };
}

/** The well-known port, else one that the system gives. Asked at each start: another may have taken it since. */
function keptAdminPort(): Promise<Environment> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve({ PORT: '0' }));
    server.listen(KEPT_ADMIN_PORT, '127.0.0.1', () =>
      server.close(() => resolve({ PORT: String(KEPT_ADMIN_PORT) })),
    );
  });
}

/** What no scan of this folder enters: what was excluded by a setting, and the data and outputs of every run here. */
export async function keptOut(): Promise<string[]> {
  return [...(await scanConfig()).EXCLUDE_PATHS, resolve(DATA_ROOT), ...(await outputsHere())];
}

/** What a scan is told. Lists go as JSON: names and globs may hold commas. */
export async function producerEnvironment(
  { directory, include, exclude, allowMassRemoval }: RunRequest,
  apart: readonly string[],
): Promise<Environment> {
  const excluded = [...apart, ...(await keptOut())];
  return {
    TARGET_DIRECTORY: directory,
    EXCLUDE_PATHS: JSON.stringify([...new Set(excluded)]),
    ...given('INCLUDE', include && JSON.stringify(include)),
    ...given('EXCLUDE', exclude && JSON.stringify(exclude)),
    ...(allowMassRemoval && { ALLOW_MASS_REMOVAL: 'true' }),
  };
}

function given(key: string, value: string | undefined): Environment {
  return value === undefined ? {} : { [key]: value };
}

/** What to say when batches made earlier have another budget, or were counted otherwise, than those to come. */
export async function changedBudget(request: RunRequest, database: Database): Promise<string[]> {
  const configured = await runConfig();
  const budget = Number(request.maxTokens ?? configured.MAX_BATCH_TOKENS);
  const encoding = (request.encoding ?? configured.ENCODING ?? DEFAULT_ENCODING) as EncodingName;
  const tokenizer = tokenizerId(encoding);
  const [last] = await database.rows<{ budget: number; tokenizer: string | null }>(
    `SELECT b.max_tokens AS budget, f.tokenizer FROM batches b JOIN batch_items i ON i.batch_id = b.id
     JOIN files f ON f.id = i.file_id ORDER BY b.created_at DESC LIMIT 1`,
  );
  const notes: string[] = [];
  if (last && last.budget !== budget)
    notes.push(
      `Batches hold ${count(budget)} tokens from now on; those made before hold ${count(last.budget)}.`,
    );
  // A count may name the form that it was made for behind the tokenizer's own id.
  if (last?.tokenizer && !`${last.tokenizer}+`.startsWith(`${tokenizer}+`))
    notes.push(
      `Tokens are counted with ${tokenizer} from now on; batches made before were counted with ${last.tokenizer}.`,
    );
  return notes;
}
