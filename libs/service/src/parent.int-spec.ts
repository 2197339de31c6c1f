import { expect, it } from '@jest/globals';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PROJECT_ROOT } from '#testing';
import { sumOfDone, type Told } from './parent.js';

it('a process tells its parent the sum of what it has done, not every file, and hears that the scan is over', async () => {
  const child = fork(join(PROJECT_ROOT, 'dist/libs/service/testing/tell-done.process.js'));
  const told: Told[] = [];
  child.on('message', (message: Told) => told.push(message));
  await once(child, 'message');
  child.send({ scanned: true });
  await once(child, 'exit');
  expect(told.at(-1)?.done).toEqual({ batched: 1_000, tokens: 10_000, delivered: 1 });
  expect(told.length).toBeLessThan(10);
}, 30_000);

it('what several processes have done is added up', () => {
  expect(sumOfDone([{ batched: 1 }, { batched: 2, tokens: 3 }, {}])).toMatchObject({
    batched: 3,
    tokens: 3,
    delivered: 0,
  });
});
