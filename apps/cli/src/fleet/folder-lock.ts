import { existsSync } from 'node:fs';
import type { Database } from 'sqlite3';
import { errorCode } from '#service';

/**
 * The right to use a folder, held by one process. The system itself holds it (SQLite's exclusive lock on a file) and gives
 * it back however the process ends, so that neither a process id that was given out again nor two that come at once matter.
 */
export class FolderLock {
  private constructor(private readonly file: Database) {}

  /** Undefined when another process, or another holder in this one, has it. */
  static async take(path: string, waitMs = 500): Promise<FolderLock | undefined> {
    const { default: sqlite } = await import('sqlite3');
    const file = await new Promise<Database>((resolve, reject) => {
      const opened: Database = new sqlite.Database(path, (error) =>
        error ? reject(error) : resolve(opened),
      );
    });
    // Others only look whether it is held, for an instant.
    file.configure('busyTimeout', waitMs);
    const taken = await run(file, 'BEGIN EXCLUSIVE').then(
      () => true,
      (error: unknown) => {
        if (errorCode(error) === 'SQLITE_BUSY') return false;
        throw error;
      },
    );
    if (taken) return new FolderLock(file);
    await close(file);
    return undefined;
  }

  static async isHeld(path: string): Promise<boolean> {
    if (!existsSync(path)) return false;
    const lock = await FolderLock.take(path, 0);
    await lock?.release();
    return lock === undefined;
  }

  async release(): Promise<void> {
    await close(this.file);
  }
}

function run(file: Database, sql: string): Promise<void> {
  return new Promise((resolve, reject) => file.exec(sql, (error) => (error ? reject(error) : resolve())));
}

function close(file: Database): Promise<void> {
  return new Promise((resolve) => file.close(() => resolve()));
}
