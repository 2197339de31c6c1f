import { isAbsolute, resolve } from 'node:path';
import { invalidDatabaseUrl } from './database.errors.js';

export type DatabaseAddress =
  { dialect: 'sqlite'; path: string } | { dialect: 'postgres'; url: string; schema?: string };

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** Reads `sqlite:path` (relative to the working directory) or `postgres://user:password@host/database[?schema=name]`. */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  if (url.startsWith('sqlite:')) return sqliteAddress(url);
  if (/^postgres(ql)?:\/\//.test(url) && namesHost(url)) return postgresAddress(url);
  throw invalidDatabaseUrl('it is neither "sqlite:path" nor "postgres://user:password@host/database"');
}

function sqliteAddress(url: string): DatabaseAddress {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '') throw invalidDatabaseUrl('the path after "sqlite:" is missing');
  // Readers and writers are separate connections, and the apps separate processes: memory is shared by neither.
  if (path.includes(':memory:'))
    throw invalidDatabaseUrl('an in-memory database cannot be shared; give a file');
  return { dialect: 'sqlite', path: isAbsolute(path) ? path : resolve(path) };
}

/** A schema holds one pipeline, so that one server can hold many. */
function postgresAddress(text: string): DatabaseAddress {
  const url = new URL(text);
  const schema = url.searchParams.get('schema');
  if (schema === null) return { dialect: 'postgres', url: text };
  if (!SCHEMA_NAME.test(schema) || schema.startsWith('pg_'))
    throw invalidDatabaseUrl(
      `?schema= is "${schema}"; allowed are up to 63 lower-case letters, digits and _, not beginning with a digit or pg_`,
    );
  url.searchParams.delete('schema');
  return { dialect: 'postgres', url: url.href, schema };
}

function namesHost(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { host, searchParams } = new URL(url);
  // A Unix socket is given as ?host=/folder.
  return host !== '' || searchParams.has('host');
}

/** An address for people to read: without user and password. */
export function shownAddress(address: DatabaseAddress): string {
  if (address.dialect === 'sqlite') return `sqlite:${address.path}`;
  const { host, pathname } = new URL(address.url);
  return `postgres://${host}${pathname}${address.schema === undefined ? '' : `?schema=${address.schema}`}`;
}

/** The files of a SQLite database: it may lie in the tree that it describes. */
export function databaseFiles(url: string): string[] {
  const address = parseDatabaseUrl(url);
  if (address.dialect !== 'sqlite') return [];
  return ['', '-wal', '-shm', '-journal'].map((suffix) => `${address.path}${suffix}`);
}
