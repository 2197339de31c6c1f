import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { errorCode, messageOf, silentLogger } from '#service';
import { CLI_EXIT, failing } from '../cli.errors.js';
import { requireRedisServer } from '../fleet/private-redis.js';
import { bytes, tableOf } from '../output/table.js';
import { nearestThere, requireOpenFiles } from '../run/run-options.js';
import { opened, type Places } from '../settings.js';

export interface Finding {
  check: string;
  ok: boolean;
  /** What is there, or what is missing and how to fix it. */
  found: string;
}

const OLDEST_NODE = [20, 19] as const;
const ROOM_BYTES = 100_000_000;
const { R_OK, W_OK, X_OK } = constants;

/** Looks at everything that a run needs, on a directory if one is named. */
export async function diagnose({ places, directory }: { places: Places; directory: string | undefined }) {
  const folder = await nearestThere(places.data.path);
  // Each says what it found, or throws what is missing with the cure.
  const checks: Record<string, () => string | Promise<string>> = {
    node: () => checkNode(process.versions.node),
    redis: () => checkRedis(places.redisUrl),
    database: () => checkDatabase(places),
    'data folder': () => mayUse(folder, W_OK | X_OK, 'write'),
    directory: () => (directory === undefined ? 'none named' : mayUse(directory, R_OK | X_OK, 'read')),
    disk: () => checkRoom(folder),
    'open files': () => requireOpenFiles().then(() => 'enough for a run'),
  };
  const look = async ([check, found]: [string, () => string | Promise<string>]): Promise<Finding> => {
    try {
      return { check, ok: true, found: await found() };
    } catch (error) {
      return { check, ok: false, found: messageOf(error) };
    }
  };
  return Promise.all(Object.entries(checks).map(look));
}

export function doctorReport(findings: readonly Finding[]): string {
  return tableOf(findings, {
    CHECK: 'check',
    STATE: ({ ok }) => (ok ? 'ok' : 'missing'),
    FOUND: ({ found }) => found.replaceAll(/\s*\n\s*/g, ' '),
  });
}

export function checkNode(version: string): string {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]))
    throw new Error(
      `Node ${version} is too old; install Node ${OLDEST_NODE.join('.')} or newer (24 is best)`,
    );
  return `Node ${version}`;
}

async function checkRedis(url: string | undefined): Promise<string> {
  if (url === undefined) {
    requireRedisServer();
    return 'redis-server is on PATH; a run starts its own';
  }
  const { checkServers, createRedisClient, parseRedisUrl, serverFacts } = await import('#redis');
  const client = createRedisClient(parseRedisUrl(url), { role: 'caller', name: 'doctor', lazyConnect: true });
  client.on('error', () => {});
  try {
    await client.connect();
    const servers = await serverFacts(client);
    checkServers(servers, 'refuse', silentLogger);
    return servers.map(({ version, evictionPolicy }) => `Redis ${version}, ${evictionPolicy}`).join('; ');
  } catch (error) {
    if (errorCode(error)?.startsWith('REDIS')) throw error;
    const unusable = (why: string): string =>
      `Redis is not usable: ${why}; start it, or correct MILLRACE_REDIS_URL`;
    return failing(CLI_EXIT.unavailable, unusable)(error);
  } finally {
    client.disconnect();
  }
}

async function checkDatabase(places: Places): Promise<string> {
  if (places.databaseUrl === places.data.databaseUrl && !places.data.isUsed)
    return 'none yet; the first run makes one in the data folder';
  try {
    return await opened(places, 'check', async (database) => {
      await database.inTransaction((tx) => tx.query('UPDATE files SET status = status WHERE 1 = 0'));
      return `${database.dialect}, schema up to date, writable`;
    });
  } catch (error) {
    if (errorCode(error) !== 'SCHEMA_TOO_OLD') throw error;
    return 'reachable; the next run (or `millrace migrate`) brings its schema up to date';
  }
}

async function mayUse(path: string, mode: number, verb: 'read' | 'write'): Promise<string> {
  const mayNot = (_: string, code?: string): string =>
    `cannot ${verb} ${path} (${code}); change its permissions or name another`;
  await access(path, mode).catch(failing(CLI_EXIT.noInput, mayNot));
  return `may ${verb} ${path}`;
}

async function checkRoom(path: string): Promise<string> {
  const { bavail, bsize } = await statfs(path);
  const free = `${bytes(bavail * bsize)} free at ${path}`;
  if (bavail * bsize < ROOM_BYTES)
    throw new Error(`${free}; free at least ${bytes(ROOM_BYTES)}, or choose --data`);
  return free;
}
