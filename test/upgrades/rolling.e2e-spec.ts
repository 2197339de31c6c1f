import { describe, expect, it } from '@jest/globals';
import { execute } from '#database';
import { DATABASE_KINDS, guardLeaks } from '#testing';
import { BatcherRig, closeRigs, expectKept } from '../e2e/batcher-rig.js';

const NEXT = 99;
const texts = (name: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`${name}-${n}.txt`, `${name} ${n}`]));

/** What the migration of the next release leaves: a column that this one does not know, and its own number. */
async function migrateFurther({ database }: BatcherRig): Promise<void> {
  await database.inTransaction(async (tx) => {
    await execute(tx, 'ALTER TABLE files ADD COLUMN of_the_next_release INTEGER');
    await execute(
      tx,
      `INSERT INTO schema_migrations (version, name, applied_at) VALUES (${NEXT}, 'of the next release', 0)`,
    );
  });
}

describe.each(DATABASE_KINDS)('a rolling deploy on %s', (kind) => {
  closeRigs();
  guardLeaks();

  it('lets a process of this version work on beside the next one, and refuses its restart with the cure', async () => {
    const rig = await BatcherRig.open({ kind, env: { DATABASE_MIGRATIONS: 'check' } });
    const running = rig.start();
    await rig.add(texts('before'));
    expect(await rig.settled()).toEqual({ batched: 10 });

    await migrateFurther(rig);
    await rig.add(texts('beside'));
    expect(await rig.settled()).toEqual({ batched: 20 });
    const restarted = rig.start();
    expect((await restarted.exited).code).not.toBe(0);

    expect(restarted.logs()).toContainEqual(
      expect.objectContaining({
        level: 'fatal',
        err: expect.objectContaining({ message: expect.stringContaining(`version ${NEXT}`) }),
      }),
    );
    expect(running.running).toBe(true);
    await expectKept(rig);
  }, 120_000);
});
