export type SharedServers = typeof globalThis & { millraceServers?: { stop(): Promise<void> }[] };

export default async function globalTeardown(): Promise<void> {
  await Promise.all(((globalThis as SharedServers).millraceServers ?? []).map((server) => server.stop()));
}
