import {
  DatabaseUrl,
  environment,
  loadSharedConfig,
  OPTIONAL,
  RedisUrl,
  Secret,
  Url,
  type ConfigGroups,
  type Configuration,
} from '#config';
import { apps } from '../../configurations.js';

/** What `millrace dlq` and `millrace keys` are told besides their options. */
export class CliConfig {
  @Url(
    'Where dlq-admin is, for `millrace dlq`. Unless given: that of the fleet on the data directory, else http://127.0.0.1:8080.',
    OPTIONAL,
  )
  DLQ_ADMIN_URL?: string;

  @Secret('The API key that `millrace dlq` presents.', OPTIONAL, {
    matches: /^[\x21-\x7e]{1,512}$/,
    must: 'one key, without spaces',
  })
  DLQ_API_KEY?: string;

  @Secret('Seals what `millrace keys` writes into the audit log; the same as that of dlq-admin.', OPTIONAL)
  AUDIT_KEY?: string;
}

/** Where database and Redis are when the data directory's own are not meant; from the same sources as in every app. */
class PlacesConfig {
  @DatabaseUrl('The database.', OPTIONAL)
  DATABASE_URL?: string;

  @RedisUrl('Redis.', OPTIONAL)
  REDIS_URL?: string;
}

export const config = { cli: CliConfig };

export async function cliConfig(): Promise<CliConfig> {
  return (await load(config)).cli;
}

export async function placesConfig(): Promise<PlacesConfig> {
  return (await load({ places: PlacesConfig })).places;
}

function load<G extends ConfigGroups>(groups: G): Promise<Configuration<G>> {
  return loadSharedConfig(groups, { env: environment(), cwd: process.cwd() }, apps);
}
