import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createDatabase } from './postgres-server.js';
import { tempFolder } from './temp-folder.js';

const REDIS_VARIABLE = 'MILLRACE_TEST_REDIS_URL';
const POSTGRES_VARIABLE = 'MILLRACE_TEST_POSTGRES_URL';

export function publishShared(redisUrl: string, postgresUrl: string): void {
  process.env[REDIS_VARIABLE] = redisUrl;
  process.env[POSTGRES_VARIABLE] = postgresUrl;
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

/** An empty database of one's own, of either kind. */
export async function testDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const folder = await tempFolder('sqlite');
    return { kind, url: `sqlite:${join(folder.path, 'millrace.db')}`, remove: folder.remove };
  }
  const { url, drop } = await createDatabase(required(POSTGRES_VARIABLE));
  return { kind, url, remove: drop };
}

function required(variable: string): string {
  const value = process.env[variable];
  if (!value)
    throw new Error(
      `${variable} is not set: run this file through jest.config.mjs, whose global set-up starts the services`,
    );
  return value;
}
