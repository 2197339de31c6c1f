import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import {
  createDatabase,
  startPostgres,
  startRedis,
  type DatabaseKind,
  type RedisServer,
  type TempFolder,
} from '#testing';
import { RecordingAnalyser } from '../../e2e/recording-analyser.js';
import { HostPostgres } from './hosts/host-postgres.js';
import type { HostNetwork } from './hosts/network.js';
import { SmallDisk, type MountedDisk } from './small-disk.js';
import { TcpProxy } from './tcp-proxy.js';

/** What the apps of a storm depend on, and where they find it. */
export interface StormServices {
  kind: DatabaseKind;
  redis: RedisServer;
  postgres?: { pause(): Promise<void>; resume(): Promise<void>; stop(): Promise<void> };
  analyser: RecordingAnalyser;
  /** As the apps see them. */
  redisUrl: string;
  databaseUrl: string;
  /** As the driver sees it, past what it breaks. */
  directDatabaseUrl: string;
  /** Between the apps and the servers, when all are on one host. */
  proxies: readonly TcpProxy[];
  /** The hosts, when there are several. */
  network?: HostNetwork;
  /** The small disk that SQLite's files are on. */
  disk: MountedDisk;
  /** Whether modes of files hold for the apps: they do not for root, unless it gives up its right to pass them over. */
  heedsModes: boolean;
  /** What stands before the command of a process, by its label. */
  on: (label: string) => readonly string[];
}

export const HOSTS = ['redis', 'database', 'scan', 'work1', 'work2', 'work3'];
const DISK_MEGABYTES = 256;
const SETPRIV = ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'];

const isRoot = (): boolean => process.getuid?.() === 0;
const canBeHumble = (): boolean => spawnSync(SETPRIV[0]!, [...SETPRIV.slice(1), 'true']).status === 0;
const heedsModes = (): boolean => !isRoot() || canBeHumble();
/** Before a command of root: modes of files hold for it, too. */
const humble = (): readonly string[] => (isRoot() && canBeHumble() ? SETPRIV : []);

/** Everything on this machine's loopback, behind proxies. */
export async function localServices(kind: DatabaseKind, folder: TempFolder): Promise<StormServices> {
  const redis = await startRedis({ persistent: true });
  const redisProxy = await TcpProxy.start({ name: 'redis', port: redis.port });
  const database = join(folder.path, 'database');
  const disk = await SmallDisk.mount(database, DISK_MEGABYTES);
  const redisUrl = `redis://127.0.0.1:${redisProxy.port}`;
  const shared = { kind, redis, redisUrl, disk, heedsModes: heedsModes(), on: () => humble() };
  const analyser = await RecordingAnalyser.start();
  if (kind === 'sqlite') {
    const url = `sqlite:${join(database, 'millrace.db')}`;
    return { ...shared, analyser, databaseUrl: url, directDatabaseUrl: url, proxies: [redisProxy] };
  }
  const postgres = await startPostgres();
  const proxy = await TcpProxy.start({ name: 'database', port: postgres.port });
  const { url } = await createDatabase(postgres.url());
  const databaseUrl = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const proxies = [redisProxy, proxy];
  return { ...shared, analyser, postgres, databaseUrl, directDatabaseUrl: url, proxies };
}

/** Redis, PostgreSQL, scans and workers on hosts of their own; the analyser is outside. */
export async function hostServices(network: HostNetwork): Promise<StormServices> {
  const [on, host] = [network.on('redis'), network.address('redis')];
  const redis = await startRedis({ persistent: true, on, host });
  const postgres = await HostPostgres.start(network.on('database'), network.address('database'));
  const { url } = await createDatabase(postgres.url());
  return {
    kind: 'postgres',
    redis,
    postgres,
    analyser: await RecordingAnalyser.start(network.outside),
    redisUrl: redis.url,
    databaseUrl: url,
    directDatabaseUrl: url,
    proxies: [],
    network,
    disk: { state: 'refused', reason: 'no SQLite among hosts' },
    heedsModes: heedsModes(),
    on: (label) => [...network.on(hostOf(label)), ...humble()],
  };
}

export async function stopServices(services: StormServices): Promise<void> {
  const { analyser, proxies, redis, postgres, disk, network } = services;
  await analyser.stop();
  for (const proxy of proxies) await proxy.stop();
  await redis.stop();
  await postgres?.stop();
  if (disk.state === 'mounted') await disk.disk.unmount();
  await network?.remove();
}

/** The first of each kind together on one host, the second on another, and so on. */
function hostOf(label: string): string {
  return label === 'producer' ? 'scan' : `work${/-(\d)$/.exec(label)?.[1] ?? 1}`;
}
