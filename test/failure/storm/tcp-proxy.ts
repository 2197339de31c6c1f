import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between the apps and a server, and can be slow, cut every link, or swallow what it is given. */
export class TcpProxy {
  delayMs = 0;
  blackHole = false;
  private readonly links = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    server.on('connection', (client) => proxy.link(client, createConnection(targetPort, '127.0.0.1')));
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

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private link(client: Socket, upstream: Socket): void {
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.links.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.links.delete(from);
        to.destroy();
      });
      from.on('data', (data) => this.forward(data, to));
    }
  }

  private forward(data: Buffer, to: Socket): void {
    if (this.blackHole) return;
    if (this.delayMs === 0) return void to.write(data);
    setTimeout(() => !to.destroyed && to.write(data), this.delayMs);
  }
}
