import { mkdir, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { spawnProgram, type Child } from './child.js';
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { tempFolder, type TempFolder } from './temp-folder.js';

export interface RedisOptions {
  port?: number;
  /** More arguments of redis-server, such as `--maxmemory 10mb`. */
  args?: readonly string[];
  /** Append-only file on: a restart keeps the data. */
  persistent?: boolean;
  /** The address to listen on and be reached by; loopback unless given. */
  host?: string;
  /** What stands before the command, such as `ip netns exec <name>`. */
  on?: readonly string[];
}

const START_MS = 40_000;

/** A private redis-server process that a test can stop, kill, pause, flush and restart. */
export class RedisServer {
  private child: Child | undefined;

  private constructor(
    readonly port: number,
    private readonly folder: TempFolder,
    private readonly options: RedisOptions,
  ) {}

  static async start(options: RedisOptions = {}): Promise<RedisServer> {
    const server = new RedisServer(options.port ?? (await freePort()), await tempFolder('redis'), options);
    await server.launch();
    return server;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  private get host(): string {
    return this.options.host ?? '127.0.0.1';
  }

  get pid(): number {
    if (!this.child) throw new Error('redis-server is not running');
    return this.child.pid;
  }

  /** Sends one inline command and returns the raw reply's first line. For tests that must not use a client. */
  command(...words: string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(this.port, this.host, () => socket.write(encode(words)));
      socket.setTimeout(5_000, () => socket.destroy(new Error(`redis did not answer ${words.join(' ')}`)));
      socket.on('error', reject);
      socket.once('data', (data) => {
        socket.destroy();
        resolve(data.toString().split('\r\n')[0] ?? '');
      });
    });
  }

  flush(): Promise<string> {
    return this.command('FLUSHALL');
  }

  pause(): void {
    this.child?.signal('SIGSTOP');
  }

  resume(): void {
    this.child?.signal('SIGCONT');
  }

  async kill(): Promise<void> {
    await this.child?.end('SIGKILL');
    this.child = undefined;
  }

  /** Starts again on the same port: with its data when persistent, empty when asked or never persistent. */
  async restart({ empty = false }: { empty?: boolean } = {}): Promise<void> {
    await this.kill();
    if (empty) {
      await rm(this.folder.path, { recursive: true, force: true });
      await mkdir(this.folder.path, { recursive: true });
    }
    await this.launch();
  }

  /** Ends the process and removes its folder. */
  async stop(): Promise<void> {
    this.child?.signal('SIGCONT');
    await this.kill();
    await this.folder.remove();
  }

  private async launch(): Promise<void> {
    const persistence = this.options.persistent
      ? ['--appendonly', 'yes', '--appendfsync', 'everysec']
      : ['--appendonly', 'no'];
    const fixed = [
      '--port',
      String(this.port),
      '--bind',
      this.host,
      '--protected-mode',
      'no',
      '--dir',
      this.folder.path,
      '--save',
      '',
      '--daemonize',
      'no',
    ];
    const { on = [], args: more = [] } = this.options;
    const [command = '', ...args] = [...on, 'redis-server', ...fixed, ...persistence, ...more];
    const child = spawnProgram(command, args);
    this.child = child;
    await eventually(
      async () => {
        if (!child.running) throw new Error(`redis-server ended: ${child.stdout}`);
        return (await this.ping()) === true;
      },
      { timeoutMs: START_MS },
    );
  }

  private async ping(): Promise<boolean> {
    return /^\+PONG|^-NOAUTH|^-DENIED/.test(await this.command('PING'));
  }
}

export function startRedis(options?: RedisOptions): Promise<RedisServer> {
  return RedisServer.start(options);
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
