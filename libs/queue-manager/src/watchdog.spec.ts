import { beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '#service';
import { FakeClock } from '#testing';
import type { JobQueue } from './job-queue.js';
import { Watchdog } from './watchdog.js';

describe('the watchdog', () => {
  let clock: FakeClock;
  let world: { active: number; waiting: number; recreated: number };
  let watchdog: Watchdog;

  beforeEach(() => {
    clock = new FakeClock();
    world = { active: 0, waiting: 5, recreated: 0 };
    const queue = {
      owner: { gate: { state: 'closed' }, settings: { recreateAfterMs: 1_000 } },
      isPaused: async () => false,
      counts: async () => ({ waiting: world.waiting }),
    } as unknown as JobQueue;
    const worker = {
      queue,
      logger: silentLogger,
      get active() {
        return world.active;
      },
      recreate: async () => void world.recreated++,
    };
    watchdog = new Watchdog(worker, clock);
  });

  const later = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await watchdog.tick();
  };

  it('recreates a worker that fetches nothing while jobs wait', async () => {
    await later(999);
    expect(world.recreated).toBe(0);
    await later(1);
    expect(world.recreated).toBe(1);
  });

  it('leaves a worker alone that fetches, that holds jobs, or that has nothing to fetch', async () => {
    clock.advance(900);
    watchdog.fetched();
    await later(900);
    world.active = 1;
    await later(5_000);
    world.active = 0;
    await later(999);
    world.waiting = 0;
    await later(5_000);
    expect(world.recreated).toBe(0);
  });

  it('reports that only a restart can help after recreating it three times in vain', async () => {
    await later(1_000);
    await later(1_000);
    expect(watchdog.liveness()).toEqual({ status: 'up' });
    await later(1_000);
    expect(watchdog.liveness()).toMatchObject({ status: 'down' });
    watchdog.fetched();
    expect(watchdog.liveness()).toEqual({ status: 'up' });
  });
});
