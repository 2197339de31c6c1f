import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, Random } from '#testing';
import { SMALL_FLEET, type Changes } from './storm/fleet-plan.js';
import { settle } from './storm/settle.js';
import { StormSystem } from './storm/system.js';

// A check that never failed is not to be trusted. Each planted error is run under the one fault that exposes it, and the
// sound program under the same fault.
const MUTANTS = 'test/failure/storm/mutants';
const FILES = 40;
const HASTE = 4;
// Not in haste: on a busy machine, the one that is to be stopped in the middle of its lease would lose it before.
const LONG_LEASE = { LOCK_LEASE_MILLISECONDS: '5000', LOCK_RENEWAL_INTERVAL_MILLISECONDS: '500' };

// Nothing here fails for good, so nobody need take in dead letters.
const FLEET = { ...SMALL_FLEET, 'dlq-admin': 0 };

const startSystem = (random: Random): Promise<StormSystem> =>
  StormSystem.start({ kind: 'sqlite', files: FILES, random, haste: HASTE });

async function findingsOf(system: StormSystem): Promise<string[]> {
  const { findings } = await settle(system, { log: () => {} });
  return findings;
}

/** A producer is stopped before it registers what it saw; all files change or go, and are delivered; then it goes on. */
async function wakeStaleProducer(system: StormSystem, random: Random, entry: string): Promise<string> {
  // Only a folder that is known is compared with its rows.
  await system.tree.rewrite(random);
  const stale = system.spawnProducer(entry, LONG_LEASE);
  try {
    await stale.stopped();
    await system.tree.rewrite(random);
    await system.tree.remove(FILES / 4);
    const { redis } = system.services;
    await eventually(async () => expect(await redis.command('KEYS', '*discovery-lock*')).toBe('*0'));
    await system.scanOnce();
    expect(await findingsOf(system)).toEqual([]);
  } finally {
    stale.signal('SIGCONT');
  }
  await stale.exited;
  return stale.stdout;
}

describe('the check of a storm over a sound system', () => {
  const random = new Random(1);
  let system: StormSystem;
  beforeAll(async () => {
    system = await startSystem(random);
    system.startFleet(FLEET, { batcher: { fault: 'batcher.inside-transaction:1:kill' } });
    await system.scanOnce();
  }, 120_000);
  afterAll(() => system.stop());

  it('sees nothing amiss when a sound batcher is killed inside its transaction', async () => {
    expect(await findingsOf(system)).toEqual([]);
  }, 240_000);

  it('sees nothing amiss when a sound producer wakes up stale', async () => {
    const log = await wakeStaleProducer(system, random, `${MUTANTS}/paused-write.process`);
    expect(await findingsOf(system)).toEqual([]);
    expect(log).toContain('lease lost');
  }, 240_000);
});

describe('the check of a storm over a planted error', () => {
  const random = new Random(1);
  let system: StormSystem;
  beforeEach(async () => {
    system = await startSystem(random);
  });
  afterEach(() => system.stop());

  const deliverAll = async (changes: Changes): Promise<string[]> => {
    system.startFleet(FLEET, changes);
    await system.scanOnce();
    return findingsOf(system);
  };

  it('sees files lost by a batcher that calls them batched before the batch is committed', async () => {
    const entry = `${MUTANTS}/batched-before-commit.process`;
    const findings = await deliverAll({ batcher: { entry, fault: 'batcher.inside-transaction:1:kill' } });
    expect(findings).toContainEqual(expect.stringContaining('batched-in-a-batch'));
  }, 240_000);

  it('sees batches sent and announced twice by an analyzer without inbox', async () => {
    const findings = await deliverAll({ analyzer: { entry: `${MUTANTS}/no-inbox.process` } });
    expect(findings).toContainEqual(expect.stringContaining('were sent again when they were delivered late'));
    expect(findings).toContainEqual(expect.stringContaining('was announced as completed 2 times'));
  }, 240_000);

  it('sees files that came back from the dead when a stale producer may write', async () => {
    expect(await deliverAll({})).toEqual([]);
    await wakeStaleProducer(system, random, `${MUTANTS}/no-fence.process`);
    expect(await findingsOf(system)).toContainEqual(expect.stringMatching(/is known and not on the disk/));
  }, 240_000);
});
