import { isAbsolute, resolve } from 'node:path';
import { InvalidDatabaseUrlError } from './database.errors.js';

export type DatabaseAddress = { dialect: 'sqlite'; path: string } | { dialect: 'postgres'; url: string };

/** Reads `sqlite:path` (relative to the working directory) or `postgres://user:password@host/database`. */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  if (url.startsWith('sqlite:')) return sqliteAddress(url);
  if (/^postgres(ql)?:\/\//.test(url) && namesHost(url)) return { dialect: 'postgres', url };
  throw new InvalidDatabaseUrlError(
    'it is neither "sqlite:path" nor "postgres://user:password@host/database"',
  );
}

function sqliteAddress(url: string): DatabaseAddress {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '') throw new InvalidDatabaseUrlError('the path after "sqlite:" is missing');
  // Readers and writers are separate connections, and the apps separate processes: memory is shared by neither.
  if (path.includes(':memory:'))
    throw new InvalidDatabaseUrlError('an in-memory database cannot be shared; give a file');
  return { dialect: 'sqlite', path: isAbsolute(path) ? path : resolve(path) };
}

function namesHost(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { host, searchParams } = new URL(url);
  // A Unix socket is given as ?host=/folder.
  return host !== '' || searchParams.has('host');
}
