import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing';
import { TcpProxy } from './tcp-proxy.js';

describe('the proxy of a storm', () => {
  let server: Server;
  let proxy: TcpProxy;
  let heard: string;
  let client: Socket;
  let echoed: string;
  let ended: boolean;

  beforeEach(async () => {
    heard = echoed = '';
    ended = false;
    server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data: Buffer) => {
        heard += data.toString();
        socket.write(data);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await TcpProxy.start({ name: 'echo', port: (server.address() as AddressInfo).port });
    client = createConnection(proxy.port, '127.0.0.1');
    client.on('data', (data: Buffer) => (echoed += data.toString()));
    client.on('error', () => {});
    client.on('close', () => (ended = true));
    client.write('a');
    await eventually(() => echoed === 'a');
  });

  afterEach(async () => {
    client.destroy();
    await proxy.stop();
    server.close();
  });

  it('cuts links', async () => {
    proxy.cut();
    await eventually(() => ended);
  });

  it('swallows replies, and delivers them no more', async () => {
    proxy.swallows = 'replies';
    client.write('b');
    await eventually(() => heard === 'ab');
    proxy.swallows = 'nothing';
    client.write('c');
    await eventually(() => expect(echoed.at(-1)).toBe('c'));
    expect(heard).toBe('abc');
  });

  it('swallows everything', async () => {
    proxy.swallows = 'everything';
    client.write('b');
    client.end();
    await eventually(() => ended);
    expect(heard).toBe('a');
  });

  it('tears a link in the middle of a message', async () => {
    proxy.tearAfter(3);
    client.write('12345');
    await eventually(() => ended);
    expect(heard).toMatch(/^a(123)?$/);
  });
});
