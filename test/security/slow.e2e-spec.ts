import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { execute } from '#database';
import { eventually } from '#testing';
import { SERVER_BOUNDS } from '../../libs/service/src/bootstrap.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from '../e2e/dlq-app.js';

/** What a server said until it ended the connection. */
async function untilEnded(socket: Socket): Promise<string> {
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  if (!socket.closed) await new Promise((ended) => socket.once('close', ended));
  return said;
}

async function connected(port: number, first = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  // Who is refused may be told so by a reset.
  socket.on('error', () => {});
  await new Promise((open) => socket.once('connect', open).once('close', open));
  if (first) socket.write(first);
  return socket;
}

describe('slow clients', () => {
  let server: Server;
  afterEach(() => void server.close());

  /** With bounds as tight as a test can wait for. */
  async function bounded(): Promise<number> {
    server = createServer((request, response) => {
      request.resume().on('end', () => response.end('served'));
    });
    Object.assign(server, {
      ...SERVER_BOUNDS,
      headersTimeout: 300,
      requestTimeout: 600,
      connectionsCheckingInterval: 50,
      maxConnections: 20,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  it('lose their connection over headers or a body that never end, a byte at a time or not at all', async () => {
    const port = await bounded();
    const heads = await connected(port, 'GET / HTTP/1.1\r\nHost: a\r\n');
    const body = await connected(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{');
    const mute = await connected(port);
    const drip = setInterval(() => {
      heads.write('x');
      body.write('x');
    }, 20);
    const said = await Promise.all([heads, body, mute].map(untilEnded));
    clearInterval(drip);
    expect(said.slice(0, 2)).toEqual([
      expect.stringMatching(/^HTTP\/1.1 408/),
      expect.stringMatching(/^HTTP\/1.1 408/),
    ]);
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('served');
  });

  it('are no more than the server can bear: further ones are refused until those have ended', async () => {
    const port = await bounded();
    const held = await Promise.all(Array.from({ length: 20 }, () => connected(port, 'GET / HT')));
    const refused = await connected(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await untilEnded(refused)).toBe('');
    await Promise.all(held.map(untilEnded));
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('served');
  });
});

describe('dlq-admin', () => {
  let admin: TestDlqAdmin;
  afterEach(() => admin.stop());

  it('ends slow headers within its bound, and serves others meanwhile', async () => {
    admin = await startDlqAdmin('sqlite');
    const port = Number(new URL(admin.url).port);
    const ended = untilEnded(await connected(port, 'GET /api/v1/stats HTTP/1.1\r\nHost: a\r\n'));
    expect((await fetch(`${admin.url}/health/live`)).status).toBe(200);
    expect(await ended).toMatch(/^HTTP\/1.1 408/);
    // Node's own interval would let it live for 40 s.
  }, 25_000);

  it.each(['sqlite', 'postgres'] as const)(
    'gives up a search that its database (%s) does not end, with advice, and others do not wait for it',
    async (kind) => {
      admin = await startDlqAdmin(kind);
      await admin.send([deadLetter()]);
      await eventually(async () => (await admin.client.count()).count === 1);
      const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
      await admin.database.inTransaction(async (tx) => {
        await execute(tx, 'ALTER TABLE dead_letters RENAME TO kept_letters');
        await execute(
          tx,
          `CREATE VIEW dead_letters AS SELECT k.* FROM kept_letters k CROSS JOIN (${endless}) e WHERE e.i < 0`,
        );
      });
      const order: string[] = [];
      const slow = admin.client.letters().then(
        () => 'found',
        (error: { code: string }) => order.push('slow') && error.code,
      );
      await admin.client.keys();
      order.push('keys');
      expect(await slow).toBe('QUERY_TOO_SLOW');
      expect(order).toEqual(['keys', 'slow']);
    },
    60_000,
  );
});
