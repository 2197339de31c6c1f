import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What this analyser refuses, and how: three causes of three different people. */
const FAULTS: [sign: string, status: number, error: string][] = [
  ['legacy/', 400, 'schema violation: field owner is missing'],
  ['vendor/', 413, 'too many tokens for this tenant'],
  ['drafts/', 422, 'language is not supported'],
];

/** An analyser in trouble: it refuses what lies in certain folders until it is mended. */
export class IncidentAnalyser {
  mended = false;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<IncidentAnalyser> {
    const server = createServer();
    const analyser = new IncidentAnalyser(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const fault = analyser.mended
          ? undefined
          : FAULTS.find(([sign]) => new RegExp(`"path":"[^"]*${sign}`).test(body));
        response
          .writeHead(fault?.[1] ?? 200, { 'content-type': 'application/json' })
          .end(JSON.stringify(fault ? { error: fault[2] } : { findings: [] }));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return analyser;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
