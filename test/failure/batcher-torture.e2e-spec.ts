import { describe, expect, it } from '@jest/globals';
import { DATABASE_KINDS, guardLeaks, Random, startRedis, testSeed, type Child } from '#testing';
import { BatcherRig, closeRigs, expectKept } from '../e2e/batcher-rig.js';

const FULL = process.env.MILLRACE_TORTURE === 'full';
const FILES = FULL ? 20_000 : 2_000;
const BATCHERS = FULL ? 4 : 3;
const KILLS = FULL ? 60 : 6;
const SETTLE_MS = FULL ? 600_000 : 180_000;

function fixtures(random: Random): Record<string, string | Buffer> {
  return Object.fromEntries(
    Array.from({ length: FILES }, (_, n): [string, string | Buffer] => {
      if (n % 200 === 7) return [`d${n % 13}/binary${n}`, Buffer.from([0, n % 256])];
      // A few are larger than a batch.
      const words = n % 250 === 9 ? 15_000 : Math.floor(random.next() * 60);
      return [`d${n % 13}/f${n}`, `file ${n} ${'word '.repeat(words)}`];
    }),
  );
}

describe('a fleet of batchers', () => {
  closeRigs();
  guardLeaks();

  it.each(DATABASE_KINDS)(
    'puts each file in exactly one batch although batchers are killed and Redis is flushed (%s)',
    async (kind) => {
      const seed = testSeed();
      const random = new Random(seed);
      const redis = await startRedis();
      const rig = await BatcherRig.open({
        kind,
        redis: { url: redis.url, prefix: '{millrace}' },
        // Little in hand at a time, so that the work outlasts the kills.
        env: {
          BATCHER_CONCURRENCY: '40',
          MAX_BATCH_TOKENS: '4000',
          BATCH_LINGER_MS: '300',
          LOG_LEVEL: 'warn',
        },
      });
      try {
        const registered = await rig.add(fixtures(random));
        const fleet: Child[] = Array.from({ length: BATCHERS }, () => rig.start());
        for (let kill = 1; kill <= KILLS; kill++) {
          await new Promise((resolve) => setTimeout(resolve, 500 + random.next() * 1_000));
          const index = Math.floor(random.next() * BATCHERS);
          await fleet[index]!.end('SIGKILL');
          fleet[index] = rig.start();
          if (kill === Math.ceil(KILLS / 3) || kill === Math.ceil((2 * KILLS) / 3)) await redis.flush();
        }
        const { batched = 0, skipped = 0, ...others } = await rig.settled(SETTLE_MS);
        expect({ seed, done: batched + skipped, others }).toEqual({
          seed,
          done: registered.length,
          others: {},
        });
        expect(skipped).toBe(FILES / 200);
        await expectKept(rig);
      } finally {
        await rig.close();
        await redis.stop();
      }
    },
    SETTLE_MS + 240_000,
  );
});
