import { access, chmod, constants, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseFileError } from './database.errors.js';
import { codeOf } from './error-kind.js';

/** Makes sure that the file can be opened, exists, and is nobody else's to read; says what is wrong otherwise. */
export async function prepareSqliteFile(path: string): Promise<void> {
  await requireFolder(path);
  await createPrivately(path);
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) await chmod(path, 0o600).catch(() => {});
}

async function requireFolder(path: string): Promise<void> {
  const folder = dirname(path);
  try {
    const found = await stat(folder);
    if (!found.isDirectory())
      throw new DatabaseFileError(
        path,
        `${folder} is not a directory`,
        'give DATABASE_URL a path inside one',
      );
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw explainFileError(path, error);
  }
}

async function createPrivately(path: string): Promise<void> {
  try {
    // SQLite gives its -wal and -shm files the mode of this one.
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    await file.close();
  } catch (error) {
    throw explainFileError(path, error);
  }
}

function explainFileError(path: string, error: unknown): Error {
  if (error instanceof DatabaseFileError) return error;
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new DatabaseFileError(
        path,
        'its directory does not exist',
        `create it: mkdir -p '${dirname(path)}'`,
        error,
      );
    case 'EISDIR':
      return new DatabaseFileError(path, 'it is a directory', 'give DATABASE_URL the path of a file', error);
    case 'EACCES':
    case 'EPERM':
      return new DatabaseFileError(
        path,
        'no permission to write it or its directory',
        'give this user the right to both',
        error,
      );
    case 'EROFS':
      return new DatabaseFileError(
        path,
        'the file system is read-only',
        'put it on one that can be written',
        error,
      );
    default:
      return new DatabaseFileError(path, 'it cannot be opened', 'check the path and the file system', error);
  }
}
