import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { World } from './world.js';

/** An analyser that refuses every batch until its status is another. */
export async function refusing(world: World): Promise<{ url: string; status: number }> {
  const analyser = { url: '', status: 400 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(analyser.status).end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  world.whenDone(async () => server.close());
  analyser.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return analyser;
}
