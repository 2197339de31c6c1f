import { parseDatabaseUrl } from '#database';
import type { Logger, Service } from '#service';
import { PostgresWakeUp } from './postgres-wake-up.js';
import { SqliteWakeUp } from './sqlite-wake-up.js';

export interface WakeUpOptions {
  /** DATABASE_URL, or LISTEN_DATABASE_URL. */
  url: string;
  /** Called soon after events were committed, by whomever; sometimes for nothing. */
  onWake: () => void;
  logger: Logger;
}

/** What tells a publisher of commits without polling: PostgreSQL notifies, SQLite's log is watched. */
export function createWakeUp({ url, onWake, logger }: WakeUpOptions): Service {
  const address = parseDatabaseUrl(url);
  return address.dialect === 'sqlite'
    ? new SqliteWakeUp({ path: address.path, onWake, logger })
    : new PostgresWakeUp({ url: address.url, onWake, logger });
}
