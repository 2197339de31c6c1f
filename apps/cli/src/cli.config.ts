import { IsOptional, IsUrl, Matches } from 'class-validator';
import { environment, IsDatabaseUrl, IsRedisUrl, Key, loadConfig } from '#config';

/** What `millrace dlq` and `millrace keys` are told besides their options. */
export class CliConfig {
  @Key({
    meaning:
      'Where dlq-admin is, for `millrace dlq`. Unless given: that of the fleet on the data directory, else http://127.0.0.1:8080.',
    optional: true,
  })
  @IsOptional()
  @IsUrl(
    { protocols: ['http', 'https'], require_protocol: true, require_tld: false },
    { message: '$property must be an http or https URL' },
  )
  DLQ_ADMIN_URL?: string;

  @Key({ meaning: 'The API key that `millrace dlq` presents.', optional: true, secret: true })
  @IsOptional()
  @Matches(/^[\x21-\x7e]{1,512}$/, { message: '$property must be one key, without spaces' })
  DLQ_API_KEY?: string;
}

/** Where database and Redis are when the data directory's own are not meant; from the same sources as in every app. */
class PlacesConfig {
  @Key({ meaning: 'The database.', optional: true, secret: 'url' })
  @IsOptional()
  @IsDatabaseUrl()
  DATABASE_URL?: string;

  @Key({ meaning: 'Redis.', optional: true, secret: 'url' })
  @IsOptional()
  @IsRedisUrl()
  REDIS_URL?: string;
}

export const config = { cli: CliConfig };

export function cliConfig(): CliConfig {
  return loadConfig(config, { env: environment(), cwd: process.cwd() }).cli;
}

export function placesConfig(): PlacesConfig {
  return loadConfig({ places: PlacesConfig }, { env: environment(), cwd: process.cwd() }).places;
}
