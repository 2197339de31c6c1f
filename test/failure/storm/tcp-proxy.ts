import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface Target {
  name: string;
  port: number;
  host?: string;
}

/** Stands between the apps and a server, and can be slow, cut every link, or swallow what it is given. */
export class TcpProxy {
  delayMs = 0;
  /** What is not passed on. */
  swallows: 'nothing' | 'replies' | 'everything' = 'nothing';
  private readonly links = new Set<Socket>();
  /** Bytes that still pass before a link is reset in the middle. */
  private tearIn: number | undefined;

  private constructor(
    private readonly server: Server,
    readonly name: string,
  ) {}

  static async start({ name, port, host = '127.0.0.1' }: Target): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, name);
    server.on('connection', (client) => proxy.link(client, createConnection(port, host)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resets every link that is open now. */
  cut(): void {
    for (const socket of this.links) socket.resetAndDestroy();
  }

  /** Passes so many more bytes and then resets the link that they were on. */
  tearAfter(bytes: number): void {
    this.tearIn = bytes;
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private link(client: Socket, upstream: Socket): void {
    this.pass(client, upstream, (data) => this.swallows !== 'everything' && this.forward(data, upstream));
    this.pass(upstream, client, (data) => this.swallows === 'nothing' && this.forward(data, client));
  }

  private pass(from: Socket, to: Socket, forward: (data: Buffer) => void): void {
    this.links.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.links.delete(from);
      to.destroy();
    });
    from.on('data', (data) => {
      if (!this.torn(data, from, to)) forward(data);
    });
  }

  private torn(data: Buffer, from: Socket, to: Socket): boolean {
    if (this.tearIn === undefined) return false;
    this.tearIn -= data.length;
    if (this.tearIn > 0) return false;
    to.write(data.subarray(0, data.length + this.tearIn), () => to.resetAndDestroy());
    from.resetAndDestroy();
    this.tearIn = undefined;
    return true;
  }

  private forward(data: Buffer, to: Socket): void {
    if (this.delayMs === 0) return void to.write(data);
    setTimeout(() => !to.destroyed && to.write(data), this.delayMs);
  }
}
