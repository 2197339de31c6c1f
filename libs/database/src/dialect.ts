/** Which database is behind: chosen once from DATABASE_URL, asked wherever SQL differs. */
export type Dialect = 'sqlite' | 'postgres';

// SQLite reads `$1` as a parameter *named* "$1"; `?1` is its spelling of "the first parameter".
const NUMBERED = /\$(\d+)/g;

/** SQL is written once, with `$1` placeholders; this spells it for the database. Literals must not contain `$<digit>`. */
export function spell(dialect: Dialect, sql: string): string {
  return dialect === 'sqlite' ? sql.replace(NUMBERED, '?$1') : sql;
}

/** `$from, …` for `count` parameters. */
export function placeholders(count: number, from = 1): string {
  return Array.from({ length: count }, (_, index) => `$${from + index}`).join(', ');
}

// As a subquery it is evaluated once a statement, not for every row, and an index can be searched by it.
const NOW: Record<Dialect, string> = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)',
};

/**
 * SQL for "now" in UTC milliseconds by the database's clock: one clock for all of a fleet. Leases and ages are judged by
 * it, never by the clock of a process, which may be wrong or jump. (SQLite's is the machine's, which all its users share.)
 */
export function databaseNow(dialect: Dialect): string {
  return NOW[dialect];
}
