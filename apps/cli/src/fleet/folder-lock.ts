import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
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
    const lock = new FolderLock(file);
    // Others only look whether it is held, for an instant.
    file.configure('busyTimeout', waitMs);
    try {
      await promisify<string, void>(file.exec.bind(file))('BEGIN EXCLUSIVE');
      return lock;
    } catch (error) {
      if (errorCode(error) !== 'SQLITE_BUSY') throw error;
      await lock.release();
      return undefined;
    }
  }

  static async isHeld(path: string): Promise<boolean> {
    if (!existsSync(path)) return false;
    const lock = await FolderLock.take(path, 0);
    await lock?.release();
    return lock === undefined;
  }

  async release(): Promise<void> {
    await new Promise<void>((resolve) => this.file.close(() => resolve()));
  }
}
