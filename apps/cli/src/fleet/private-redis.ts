import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { environment } from '#config';
import { sleep } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';

const START_MS = 15_000;
const RESTART_MS = 200;

const REDIS_MISSING = `redis-server was not found. Provide one in any of these ways:
  1. install it:  apt-get install redis-server  |  brew install redis  |  dnf install redis
  2. put a redis-server binary (6.2 or newer) on PATH
  3. use a running one:  MILLRACE_REDIS_URL=redis://host:6379 millrace run …`;

// The shell becomes Redis. Its other half ends Redis when the pipe to this process closes, which the kernel sees to however
// this process dies.
const WITH_THIS_PROCESS = 'exec 3<&0; (cat <&3 >/dev/null; kill $$) & exec redis-server "$@" </dev/null 3<&-';

/**
 * A Redis of this run alone, on a socket that only this user can reach. It writes nothing to disk: one that dies is started
 * again empty, as every run begins, and what it held the apps restore from the database.
 */
export class PrivateRedis {
  private readonly socketFolder = mkdtempSync(join(tmpdir(), 'millrace-'));
  private readonly socket = join(this.socketFolder, 'redis.sock');
  private server: ChildProcess | undefined;
  private readonly stopping = new AbortController();

  /** Not started yet; it can be told where it will be. */
  constructor(private readonly logFile: string) {}

  get url(): string {
    return `unix://${this.socket}`;
  }

  async start(): Promise<void> {
    this.server = this.spawn();
    await this.waitUntilReady();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const { server } = this;
    if (server?.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      // It has nothing to save, and would only look for a gentler signal ten times a second.
      server.kill('SIGKILL');
      await ended;
    }
    await rm(this.socketFolder, { recursive: true, force: true });
  }

  private spawn(): ChildProcess {
    // Its own process group: Ctrl-C at the terminal must not end Redis before the apps have ended.
    const server = spawn('sh', ['-c', WITH_THIS_PROCESS, 'millrace-redis', ...this.flags], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    server.once('exit', () => void this.restart(server));
    return server;
  }

  private async restart(ended: ChildProcess): Promise<void> {
    ended.stdin?.destroy();
    await sleep(RESTART_MS, this.stopping.signal);
    if (!this.stopping.signal.aborted) this.server = this.spawn();
  }

  private get flags(): string[] {
    const places = ['--port', '0', '--unixsocket', this.socket, '--unixsocketperm', '700'];
    const files = ['--dir', this.socketFolder, '--logfile', this.logFile];
    const inMemory = ['--appendonly', 'no', '--save', ''];
    return [...places, ...files, ...inMemory, '--maxmemory-policy', 'noeviction'];
  }

  private async waitUntilReady(): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline) {
      if (await answers(this.socket)) return;
      await sleep(20);
    }
    await this.stop();
    throw new CliError(`the private redis-server did not start; see ${this.logFile}`, CLI_EXIT.unavailable);
  }
}

/** Whether Redis answers there. Enough to wait; the apps use a real client. */
async function answers(socket: string): Promise<boolean> {
  const connection = createConnection(socket, () => connection.write('PING\r\n'));
  try {
    const [reply] = (await once(connection, 'data', { signal: AbortSignal.timeout(5_000) })) as [Buffer];
    return reply.toString() === '+PONG\r\n';
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}

/** Throws where none can be started. */
export function requireRedisServer(): void {
  const folders = (environment().PATH ?? '').split(delimiter).filter(Boolean);
  if (!folders.some((folder) => existsSync(join(folder, 'redis-server'))))
    throw new CliError(REDIS_MISSING, CLI_EXIT.unavailable);
}
