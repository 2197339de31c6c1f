import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { EntityManager, QueryRunner } from 'typeorm';
import { errorCode } from '#service';
import { settingsNotInForce } from './database.errors.js';
import { queryRows } from './query.js';

/** SessionSettings of PostgreSQL by name. */
export type SessionSettings = Readonly<Record<string, string | number>>;

const PROTOCOL_VIOLATION = '08P01';
// What is not in a transaction of ours can only read, as on SQLite's reader.
const READ_ONLY = { default_transaction_read_only: 'on' };
// The server, too, gives up on a client that no longer acknowledges, and frees its locks.
const DEAD_CLIENT = {
  tcp_user_timeout: 15_000,
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
};

/** As a session is told them when it begins. */
export function startupOptions(settings: SessionSettings): string {
  return Object.entries({ ...settings, ...READ_ONLY, ...DEAD_CLIENT })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** As a transaction sets them for itself, for where it shares sessions with strangers. */
export function setLocally(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `; SET LOCAL ${name} = ${value}`)
    .join('');
}

/**
 * Whether a session there is ours and has the settings it began with. A pooler (PgBouncer) refuses them, or takes them and
 * throws them away, and gives each transaction any session.
 */
export async function keepsSettings(config: pg.ClientConfig): Promise<boolean> {
  const mark = randomUUID();
  const client = new pg.Client({ ...config, options: `${config.options} -c millrace.session=${mark}` });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query("SELECT current_setting('millrace.session', true) AS mark");
    return (rows as { mark: string | null }[])[0]?.mark === mark;
  } catch (error) {
    if (errorCode(error) === PROTOCOL_VIOLATION) return false;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Refuses to go on when what was set is not so: a limit that is silently off is found out on the worst day. */
export async function requireInForce(manager: EntityManager, settings: SessionSettings): Promise<void> {
  const rows = await queryRows<{ name: string; setting: string }>(
    manager,
    'SELECT name, setting FROM pg_settings',
  );
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const wrong = Object.entries(settings).filter(([name, value]) => found.get(name) !== String(value));
  if (wrong.length === 0) return;
  throw settingsNotInForce(
    wrong.map(([name, value]) => `${name} is ${found.get(name)} instead of ${value}`).join(', '),
  );
}

/** Has a statement outside of a transaction run in one of its own, and TypeORM's own transactions begin, as `begin` does. */
export function wrapStatements(
  runner: QueryRunner,
  begin: (runner: QueryRunner) => Promise<void>,
  abandon: (runner: QueryRunner, cause: unknown) => Promise<void>,
): QueryRunner {
  const query = runner.query.bind(runner) as (...args: unknown[]) => Promise<unknown>;
  const wrapped = async (...args: unknown[]): Promise<unknown> => {
    if (runner.isTransactionActive) return query(...args);
    try {
      await begin(runner);
      const result = await query(...args);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await abandon(runner, error);
      throw error;
    }
  };
  const startTransaction: QueryRunner['startTransaction'] = runner.startTransaction.bind(runner);
  return Object.assign(runner, {
    query: wrapped,
    startTransaction: () => (runner.isTransactionActive ? startTransaction() : begin(runner)),
  });
}
