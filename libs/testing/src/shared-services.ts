import { randomUUID } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDatabase } from './postgres-server.js';
import { tempFolder } from './temp-folder.js';

const REDIS_VARIABLE = 'MILLRACE_TEST_REDIS_URL';
const POSTGRES_VARIABLE = 'MILLRACE_TEST_POSTGRES_URL';
const TEMPLATES_VARIABLE = 'MILLRACE_TEST_TEMPLATES';

/** Databases that were migrated once, of which every test gets a copy: a file and the name of a database. */
type Templates = Record<DatabaseKind, string>;

export function publishShared(redisUrl: string, postgresUrl: string, templates: Templates): void {
  process.env[REDIS_VARIABLE] = redisUrl;
  process.env[POSTGRES_VARIABLE] = postgresUrl;
  process.env[TEMPLATES_VARIABLE] = JSON.stringify(templates);
}

/** The Redis of this test run and a key prefix of one's own. Never flush it; start a private one to break. */
export function sharedRedis(): { url: string; prefix: string } {
  return { url: required(REDIS_VARIABLE), prefix: `t-${randomUUID().slice(0, 8)}` };
}

export type DatabaseKind = 'sqlite' | 'postgres';
export const DATABASE_KINDS: readonly DatabaseKind[] = ['sqlite', 'postgres'];

export interface TestDatabase {
  kind: DatabaseKind;
  url: string;
  remove: () => Promise<void>;
}

/** A database of one's own, of either kind, with our tables and no rows. */
export async function testDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const templates = JSON.parse(required(TEMPLATES_VARIABLE)) as Templates;
  if (kind === 'postgres') return onPostgres(templates.postgres);
  const { path, ...database } = await inFolder();
  await copyFile(templates.sqlite, path);
  return database;
}

/** The same without tables: for who makes them. */
export async function emptyDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  return kind === 'sqlite' ? inFolder() : onPostgres();
}

async function inFolder(): Promise<TestDatabase & { path: string }> {
  const folder = await tempFolder('sqlite');
  const path = join(folder.path, 'millrace.db');
  return { kind: 'sqlite', url: `sqlite:${path}`, remove: folder.remove, path };
}

async function onPostgres(template?: string): Promise<TestDatabase> {
  const { url, drop } = await createDatabase(required(POSTGRES_VARIABLE), template);
  return { kind: 'postgres', url, remove: drop };
}

function required(variable: string): string {
  const value = process.env[variable];
  if (!value)
    throw new Error(
      `${variable} is not set: run this file through jest.config.mjs, whose global set-up starts the services`,
    );
  return value;
}
