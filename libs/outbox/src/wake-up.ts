import { parseDatabaseUrl } from '#database';
import type { Logger, Service } from '#service';
import { PostgresWakeUp } from './postgres-wake-up.js';
import { SqliteWakeUp } from './sqlite-wake-up.js';

/**
 * What tells a publisher of commits without polling: PostgreSQL notifies, SQLite's log is watched. `url` is DATABASE_URL or
 * LISTEN_DATABASE_URL; `onWake` is called soon after events were committed, by whomever, and sometimes for nothing.
 */
export function createWakeUp(url: string, onWake: () => void, logger: Logger): Service {
  const address = parseDatabaseUrl(url);
  return address.dialect === 'sqlite'
    ? new SqliteWakeUp(address.path, onWake, logger)
    : new PostgresWakeUp(address.url, onWake, logger);
}
