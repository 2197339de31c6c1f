import { DatabaseUrl, environment, loadConfig, OPTIONAL, RedisUrl, Secret, Url } from '#config';

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
}

/** Where database and Redis are when the data directory's own are not meant; from the same sources as in every app. */
class PlacesConfig {
  @DatabaseUrl('The database.', OPTIONAL)
  DATABASE_URL?: string;

  @RedisUrl('Redis.', OPTIONAL)
  REDIS_URL?: string;
}

export const config = { cli: CliConfig };

export function cliConfig(): CliConfig {
  return loadConfig(config, { env: environment(), cwd: process.cwd() }).cli;
}

export function placesConfig(): PlacesConfig {
  return loadConfig({ places: PlacesConfig }, { env: environment(), cwd: process.cwd() }).places;
}
