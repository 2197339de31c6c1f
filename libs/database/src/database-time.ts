import type { Dialect } from './dialect.js';

const NOW: Record<Dialect, string> = {
  sqlite: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
  postgres: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
};

/**
 * SQL for "now" in UTC milliseconds by the database's clock: one clock for all of a fleet. Leases and ages are judged by
 * it, never by the clock of a process, which may be wrong or jump. (SQLite's is the machine's, which all its users share.)
 */
export function databaseNow(dialect: Dialect): string {
  return NOW[dialect];
}
