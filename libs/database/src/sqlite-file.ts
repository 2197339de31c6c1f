import { access, constants, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '#service';
import { DatabaseError, databaseFileUnusable } from './database.errors.js';

/** Makes sure that the file can be opened, exists, and is nobody else's to read; says what is wrong otherwise. */
export async function prepareSqliteFile(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    if (!(await stat(folder)).isDirectory())
      throw databaseFileUnusable(path, `${folder} is not a directory`, 'give DATABASE_URL a path inside one');
    await access(folder, constants.W_OK | constants.X_OK);
    // SQLite gives its -wal and -shm files the mode of this one.
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) await file.chmod(0o600).catch(() => {});
    await file.close();
  } catch (error) {
    throw explainFileError(path, error);
  }
}

/** What is wrong, and what to do about it, by the code of the file system. */
function explainFileError(path: string, error: unknown): Error {
  if (error instanceof DatabaseError) return error;
  const noFolder = ['its directory does not exist', `create it: mkdir -p '${dirname(path)}'`] as const;
  const noRight = ['no permission to write it or its directory', 'give this user the right to both'] as const;
  const faults: Record<string, readonly [problem: string, cure: string]> = {
    ENOENT: noFolder,
    ENOTDIR: noFolder,
    EISDIR: ['it is a directory', 'give DATABASE_URL the path of a file'],
    EACCES: noRight,
    EPERM: noRight,
    EROFS: ['the file system is read-only', 'put it on one that can be written'],
  };
  const [problem, cure] = faults[errorCode(error) ?? ''] ?? [
    'it cannot be opened',
    'check the path and the file system',
  ];
  return databaseFileUnusable(path, problem, cure, error);
}
