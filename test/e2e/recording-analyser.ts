import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  key: string;
  batchId: string;
  files: {
    path: string;
    content: string;
    encoding: BufferEncoding;
    part: number;
    parts: number;
    tokens: number;
  }[];
}

/** An analyser that remembers every request it got, independently of the system's own books. */
export class RecordingAnalyser {
  readonly requests: Received[] = [];
  /** Answers this many requests with 503 before it works. */
  busy = 0;
  /** Ends every connection without a word, as one that is not there. */
  gone = false;
  /** Requests that it was too busy for, or not there for. */
  refused = 0;
  /** The batch that it cannot take: it answers 500. */
  failing: string | undefined;

  private constructor(private readonly server: Server) {}

  static async start(host = '127.0.0.1'): Promise<RecordingAnalyser> {
    const server = createServer();
    const analyser = new RecordingAnalyser(server);
    server.on('request', (request, response) => {
      if (analyser.gone) {
        analyser.refused++;
        return void request.socket.destroy();
      }
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (analyser.busy-- > 0) {
          analyser.refused++;
          return void response.writeHead(503, { 'retry-after': '0' }).end();
        }
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Omit<Received, 'key'>;
        if (body.batchId === analyser.failing) return void response.writeHead(500).end();
        analyser.requests.push({ key: String(request.headers['idempotency-key']), ...body });
        response.end('{"ok":true}');
      });
    });
    server.listen(0, host);
    await once(server, 'listening');
    return analyser;
  }

  get url(): string {
    const { address, port } = this.server.address() as AddressInfo;
    return `http://${address}:${port}/`;
  }

  /** What an analyser that honours idempotency keys did: one effect a key. */
  get effects(): Map<string, Received> {
    return new Map(this.requests.map((request) => [request.key, request]));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
