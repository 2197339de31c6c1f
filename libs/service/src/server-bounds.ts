import type { Server } from 'node:http';

export const SERVER_BOUNDS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 15_000,
  // Node looks for slow clients only so often, by default every 30 s; read when the server begins to listen.
  connectionsCheckingInterval: 1_000,
  maxConnections: 1_000,
  maxRequestsPerSocket: 10_000,
};

/** Nobody holds a connection open by being slow, and nobody takes all of them. Before the server listens. */
export function boundServer(server: Server, bounds = SERVER_BOUNDS): void {
  Object.assign(server, bounds);
}
