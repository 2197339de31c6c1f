import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually, Random } from '#testing';
import { SMALL_FLEET, type Changes } from './storm/fleet-plan.js';
import { isStopped } from './storm/process-facts.js';
import { settle } from './storm/settle.js';
import { StormSystem } from './storm/system.js';

// A check that never failed is not to be trusted. Each planted error is run under the one fault that exposes it, and the
// sound program under the same fault.
const MUTANTS = 'test/failure/storm/mutants';
const FILES = 40;

let system: StormSystem;

async function findingsOf(): Promise<string[]> {
  const { findings } = await settle(system, { log: () => {} });
  return findings;
}

async function deliverAll(changes?: Changes): Promise<string[]> {
  system = await StormSystem.start({ kind: 'sqlite', files: FILES, random: new Random(1) });
  system.startFleet(SMALL_FLEET, changes);
  await system.scanOnce();
  return findingsOf();
}

/** A producer is stopped before it registers what it saw; all files change or go, and are delivered; then it goes on. */
async function wakeStaleProducer(entry: string): Promise<{ findings: string[]; log: string }> {
  const random = new Random(1);
  system = await StormSystem.start({ kind: 'sqlite', files: FILES, random });
  system.startFleet(SMALL_FLEET);
  await system.scanOnce();
  // Only a folder that is known is compared with its rows.
  await system.tree.rewrite(random);
  const stale = system.spawnProducer(entry);
  try {
    await eventually(() => isStopped(stale.pid), { timeoutMs: 60_000 });
    await system.tree.rewrite(random);
    await system.tree.remove(FILES / 4);
    await system.scanOnce();
    expect(await findingsOf()).toEqual([]);
  } finally {
    stale.signal('SIGCONT');
  }
  await stale.exited;
  return { findings: await findingsOf(), log: stale.stdout };
}

afterEach(() => system.stop());

describe('the check of a storm', () => {
  it('sees files lost by a batcher that calls them batched before the batch is committed', async () => {
    const entry = `${MUTANTS}/batched-before-commit.process`;
    const findings = await deliverAll({ batcher: { entry, fault: 'batcher.inside-transaction:1:kill' } });
    expect(findings).toContainEqual(expect.stringContaining('batched-in-a-batch'));
  }, 240_000);

  it('sees nothing amiss when a sound batcher is killed there', async () => {
    expect(await deliverAll({ batcher: { fault: 'batcher.inside-transaction:1:kill' } })).toEqual([]);
  }, 240_000);

  it('sees batches sent and announced twice by an analyzer without inbox', async () => {
    const findings = await deliverAll({ analyzer: { entry: `${MUTANTS}/no-inbox.process` } });
    expect(findings).toContainEqual(expect.stringContaining('were sent again when they were delivered late'));
    expect(findings).toContainEqual(expect.stringContaining('was announced as completed 2 times'));
  }, 240_000);

  it('sees files that came back from the dead when a stale producer may write', async () => {
    const { findings } = await wakeStaleProducer(`${MUTANTS}/no-fence.process`);
    expect(findings).toContainEqual(expect.stringMatching(/is known and not on the disk/));
  }, 240_000);

  it('sees nothing amiss when a sound producer wakes up stale', async () => {
    const { findings, log } = await wakeStaleProducer(`${MUTANTS}/paused-write.process`);
    expect(findings).toEqual([]);
    expect(log).toContain('lease lost');
  }, 240_000);
});
