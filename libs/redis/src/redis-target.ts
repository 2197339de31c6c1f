import { invalidRedisUrl } from './redis.errors.js';

interface RedisNode {
  host: string;
  port: number;
}

/** Where Redis is, read from REDIS_URL. */
export type RedisTarget = { username?: string; password?: string; tls: boolean } & (
  | { kind: 'standalone'; host: string; port: number; db: number }
  | { kind: 'socket'; path: string; db: number }
  | { kind: 'sentinel'; sentinels: RedisNode[]; master: string; db: number; sentinelPassword?: string }
  | { kind: 'cluster'; nodes: RedisNode[] }
);

const SHAPE =
  /^(?<scheme>[a-z+]+):\/\/(?:(?<auth>[^@/]*)@)?(?<hosts>[^/?]*)(?<path>\/[^?]*)?(?:\?(?<query>.*))?$/;

/**
 * Reads one of
 * - `redis[s]://[user:password@]host[:port][/db]`
 * - `unix://[user:password@]/path/to/socket[?db=1]`
 * - `redis[s]+sentinel://[user:password@]host:port,host:port/master[/db][?sentinelPassword=…]`
 * - `redis[s]+cluster://[user:password@]host:port,host:port`
 *
 * Credentials are those of the data nodes and are percent-decoded; the error never shows them.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = SHAPE.exec(url)?.groups;
  if (!parts) throw invalidRedisUrl('is not a URL');
  const { scheme = '', auth = '', hosts = '', path = '', query = '' } = parts;
  const options = new URLSearchParams(query);
  const common = { ...credentials(auth), tls: scheme.startsWith('rediss') };
  switch (scheme.replace(/^rediss/, 'redis')) {
    case 'redis': {
      const db = database(path.slice(1));
      return { kind: 'standalone', ...common, ...node(hosts || '127.0.0.1', 6379), db };
    }
    case 'unix':
      if (hosts || path.length < 2) throw invalidRedisUrl('has no absolute path to a socket');
      return { kind: 'socket', ...common, path: decode(path), db: database(options.get('db')) };
    case 'redis+sentinel': {
      const [master = '', db = ''] = path.slice(1).split('/');
      if (!master) throw invalidRedisUrl('names no master for its sentinels');
      const named = { sentinels: nodes(hosts, 26_379), master: decode(master), db: database(db) };
      const sentinelPassword = options.get('sentinelPassword');
      return { kind: 'sentinel', ...common, ...named, ...(sentinelPassword && { sentinelPassword }) };
    }
    case 'redis+cluster':
      return { kind: 'cluster', ...common, nodes: nodes(hosts, 6379) };
    default:
      throw invalidRedisUrl(`has the unknown scheme ${scheme}`);
  }
}

function credentials(auth: string): { username?: string; password?: string } {
  if (!auth) return {};
  const [username = '', ...rest] = auth.split(':');
  return {
    ...(username && { username: decode(username) }),
    ...(rest.length > 0 && { password: decode(rest.join(':')) }),
  };
}

function nodes(hosts: string, defaultPort: number): RedisNode[] {
  return hosts.split(',').map((text) => node(text.trim(), defaultPort));
}

function node(text: string, defaultPort: number): RedisNode {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups;
  const host = match?.v6 ?? match?.host;
  const port = match?.port === undefined ? defaultPort : Number(match.port);
  if (!host || port < 1 || port > 65_535)
    throw invalidRedisUrl(`has the unusable address ${JSON.stringify(text)}`);
  return { host, port };
}

function database(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^\d{1,5}$/.test(text)) throw invalidRedisUrl(`has the unusable database ${JSON.stringify(text)}`);
  return Number(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidRedisUrl('has a malformed percent escape');
  }
}
