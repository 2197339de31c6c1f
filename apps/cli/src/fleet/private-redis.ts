import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { environment } from '#config';
import { sleep, within } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';

const START_MS = 15_000;
const STOP_MS = 2_000;

const MISSING = `redis-server was not found. Provide one in any of these ways:
  1. install it:  apt-get install redis-server  |  brew install redis  |  dnf install redis
  2. put a redis-server binary (6.2 or newer) on PATH
  3. use a running one:  REDIS_URL=redis://host:6379 millrace run …`;

// The shell ends Redis when its standard input closes, which the kernel sees to when this process dies, however it dies.
const KEEPER =
  'redis-server "$@" </dev/null & server=$!; trap "" INT; cat >/dev/null; kill "$server" 2>/dev/null; wait "$server"';

/** A Redis of this run alone, on a socket that only this user can reach; its append-only file is in the data directory. */
export class PrivateRedis {
  private constructor(
    private readonly keeper: ChildProcess,
    private readonly socketFolder: string,
  ) {}

  get url(): string {
    return `unix://${join(this.socketFolder, 'redis.sock')}`;
  }

  static async start(folder: string, logFile: string): Promise<PrivateRedis> {
    if (!onPath('redis-server')) throw new CliError(MISSING, CLI_EXIT.unavailable);
    const socketFolder = await mkdtemp(join(tmpdir(), 'millrace-'));
    const socket = join(socketFolder, 'redis.sock');
    const flags = [
      ...[
        '--port',
        '0',
        '--unixsocket',
        socket,
        '--unixsocketperm',
        '700',
        '--dir',
        folder,
        '--logfile',
        logFile,
      ],
      ...[
        '--appendonly',
        'yes',
        '--appendfsync',
        'everysec',
        '--save',
        '',
        '--maxmemory-policy',
        'noeviction',
      ],
    ];
    // Its own process group: Ctrl-C at the terminal must not end Redis before the apps have ended.
    const keeper = spawn('sh', ['-c', KEEPER, 'millrace-redis', ...flags], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    const redis = new PrivateRedis(keeper, socketFolder);
    await redis.waitUntilReady(socket, logFile);
    return redis;
  }

  /** Drops everything in it. The database knows what was there. */
  async flush(): Promise<void> {
    await ask(join(this.socketFolder, 'redis.sock'), 'FLUSHALL');
  }

  async stop(): Promise<void> {
    if (this.keeper.exitCode === null && this.keeper.signalCode === null) {
      const ended = once(this.keeper, 'exit');
      this.keeper.stdin?.end();
      await within<unknown>(STOP_MS, ended, () => {});
    }
    await rm(this.socketFolder, { recursive: true, force: true });
  }

  private async waitUntilReady(socket: string, logFile: string): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline) {
      if ((await ask(socket, 'PING').catch(() => '')) === '+PONG') return;
      await sleep(20);
    }
    await this.stop();
    throw new CliError(`the private redis-server did not start; see ${logFile}`, CLI_EXIT.unavailable);
  }
}

/** One command, one line back. Enough to wait and to flush; the apps use a real client. */
function ask(socket: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const connection = createConnection(socket, () => connection.write(`${command}\r\n`));
    connection.setTimeout(5_000, () => connection.destroy(new Error('no answer')));
    connection.on('error', reject);
    connection.once('data', (data) => {
      connection.destroy();
      resolve(data.toString().split('\r\n')[0] ?? '');
    });
  });
}

function onPath(name: string): boolean {
  return (environment().PATH ?? '')
    .split(delimiter)
    .some((folder) => folder !== '' && existsSync(join(folder, name)));
}
