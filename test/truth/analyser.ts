import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { World } from './world.js';

/** An analyser that refuses every batch until its status is another; `taken` are the files of those that it accepted.
 * What is to happen before its first answer is `onFirst`. */
export async function refusing(
  world: World,
  status = 400,
): Promise<{ url: string; status: number; asked: number; taken: string[]; onFirst?: () => Promise<void> }> {
  const analyser = { url: '', status, asked: 0, taken: [] as string[], onFirst: async () => {} };
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      if (analyser.asked++ === 0) await analyser.onFirst();
      const { files } = JSON.parse(body) as { files: { path: string }[] };
      if (analyser.status === 200) analyser.taken.push(...files.map(({ path }) => path));
      response.writeHead(analyser.status).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  world.whenDone(async () => server.close());
  analyser.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return analyser;
}

/** An analyser that is busy for a while from its first request on, and asks to be tried again at once. */
export async function busy(
  world: World,
  forMs: number,
): Promise<{ url: string; refused: number; taken: number }> {
  const analyser = { url: '', refused: 0, taken: 0 };
  let until: number | undefined;
  const server = createServer((request, response) => {
    until ??= performance.now() + forMs;
    const isBusy = performance.now() < until;
    analyser[isBusy ? 'refused' : 'taken']++;
    request
      .resume()
      .on('end', () => response.writeHead(isBusy ? 429 : 200, { 'retry-after': '0' }).end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  world.whenDone(async () => server.close());
  analyser.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return analyser;
}
