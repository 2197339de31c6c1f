import { DatabaseUrl, Flag, Int, List, OPTIONAL, RedisUrl, Secret, Text, Url } from '#config';
import { commandConfig } from './own-settings.js';

/** What `millrace dlq` and `millrace keys` are told besides their options. */
class CliConfig {
  @Url('Where dlq-admin is, for `millrace dlq`. Unless given: that of the run that is kept up.', OPTIONAL)
  DLQ_ADMIN_URL?: string;

  @Secret('The API key that `millrace dlq` presents.', OPTIONAL, {
    matches: /^[\x21-\x7e]{1,512}$/,
    must: 'one key, without spaces',
  })
  DLQ_API_KEY?: string;

  @Secret('Seals what `millrace keys` writes into the audit log; the same as that of dlq-admin.', OPTIONAL)
  AUDIT_KEY?: string;
}

/** Where database and Redis are when the data directory's own are not meant. */
class PlacesConfig {
  @DatabaseUrl('The database.', OPTIONAL)
  DATABASE_URL?: string;

  @DatabaseUrl('A read replica of it, which `millrace status` asks.', OPTIONAL)
  READ_DATABASE_URL?: string;

  @RedisUrl('Redis.', OPTIONAL)
  REDIS_URL?: string;

  @Text('First part of every Redis key.', '{millrace}')
  REDIS_PREFIX!: string;
}

/** What a run does by itself of what its apps are told. */
class RunConfig {
  @Int('Tokens of a batch.', 100_000, [1_000, 1_000_000_000])
  MAX_BATCH_TOKENS!: number;

  @Text('Tokenizer.', OPTIONAL)
  ENCODING?: string;

  @Flag('Readable by others.', false)
  OUTPUT_SHARED!: boolean;
}

class ScanConfig {
  @List('Left out.', [])
  EXCLUDE_PATHS!: string[];
}

export const config = { cli: CliConfig };

/** The keys of one class; what a command does not ask for is not checked. */
const loaded =
  <T extends object>(group: new () => T) =>
  async (): Promise<T> =>
    (await commandConfig({ group })).group;

export const cliConfig = loaded(CliConfig);
export const placesConfig = loaded(PlacesConfig);
export const runConfig = loaded(RunConfig);
/** What scans are told to leave out besides what a command leaves out by itself. */
export const scanConfig = loaded(ScanConfig);
