import type { Server } from 'node:http';

/** Nobody holds a connection open by being slow, and nobody takes all of them. */
export function boundServer(server: Server): void {
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.keepAliveTimeout = 15_000;
  server.maxConnections = 1_000;
  server.maxRequestsPerSocket = 10_000;
}
