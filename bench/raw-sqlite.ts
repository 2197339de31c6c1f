import type { Database } from 'sqlite3';

/** One statement on the bare driver. */
export function runSql(database: Database, sql: string, params: unknown[] = []): Promise<void> {
  return new Promise((resolve, reject) =>
    database.all(sql, params, (error) => (error ? reject(error) : resolve())),
  );
}

export function closeSql(database: Database): Promise<void> {
  return new Promise((resolve) => database.close(() => resolve()));
}
