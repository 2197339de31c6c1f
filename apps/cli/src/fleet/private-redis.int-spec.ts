import { expect, it } from '@jest/globals';
import { join } from 'node:path';
import { tempFolder } from '#testing';
import { PrivateRedis } from './private-redis.js';

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

it('a Redis that was stopped leaves nothing that keeps the process from ending', async () => {
  const folder = await tempFolder('redis');
  try {
    const before = timers();
    const redis = new PrivateRedis(join(folder.path, 'redis.log'));
    await redis.start();
    await redis.stop();
    expect(timers()).toBe(before);
  } finally {
    await folder.remove();
  }
});
