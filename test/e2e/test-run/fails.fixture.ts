import { expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { NotRunHere } from '#testing';

let tries = 0;

it('fails', () => {
  const one: number = 1;
  expect(one).toBe(2);
});

it('cannot run', () => {
  throw new NotRunHere('no wings');
});

it('passes the second time', () => {
  expect(++tries).toBe(2);
});

it('leaves a server', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

it('leaves a listener', () => {
  process.on('message', () => {});
});
