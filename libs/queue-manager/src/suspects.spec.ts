import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import type { JobQueue } from './job-queue.js';
import type { Presence } from './presence.js';
import { Suspects } from './suspects.js';
import { workerTimes } from './worker-settings.js';

const TRIAL_MS = 20;

/** Every suspect of a killed worker, delivered at once to workers that share the queue; time is not real. */
async function tryAll(count: number, workers: number): Promise<{ ms: number; deferrals: number }> {
  const clock = new FakeClock();
  const delayed = new Set<string>();
  const client = {
    hmget: async () => [null, null],
    eval: async () => 1,
    zcard: async () => delayed.size,
  };
  const ask = (_: string, work: (it: unknown) => unknown): unknown => work(client);
  const settings = { workerId: 'me', times: workerTimes(1), random: steadyRandom() };
  const queue = { toKey: (key: string) => key, ask, owner: { settings } } as unknown as JobQueue;
  const fleet = Array.from(
    { length: workers },
    () => new Suspects(queue, { key: 'presence' } as Presence, clock),
  );
  const agenda = Array.from({ length: count }, (_, n) => ({ at: 0, act: () => arrive(`job-${n}`, n) }));
  let deferrals = 0;
  const arrive = async (job: string, turn: number): Promise<void> => {
    delayed.delete(job);
    const [suspects, suspect] = [fleet[turn % workers]!, { jobId: job, stalls: 1 }];
    const refused = await suspects.admit(suspect);
    if (!refused)
      agenda.push({ at: clock.monotonic() + TRIAL_MS, act: async () => suspects.end(suspect, 'survived') });
    else if (refused.outcome === 'retry') {
      deferrals++;
      delayed.add(job);
      agenda.push({ at: clock.monotonic() + refused.delayMs, act: () => arrive(job, turn + 1) });
    }
  };
  for (;;) {
    agenda.sort((a, b) => a.at - b.at);
    const next = agenda.shift();
    if (!next) return { ms: clock.monotonic(), deferrals };
    clock.advance(next.at - clock.monotonic());
    await next.act();
  }
}

/** The same numbers between 0 and 1 every time. */
function steadyRandom(): () => number {
  let state = 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe('Suspects', () => {
  it.each([
    [100, 1],
    [2_000, 1],
    [2_000, 2],
    [2_000, 8],
  ])('tries %d suspects one after the other with few pauses, on %d workers', async (count, workers) => {
    const { ms, deferrals } = await tryAll(count, workers);
    expect(ms / (count * TRIAL_MS)).toBeLessThan(2);
    expect(deferrals / count).toBeLessThan(10);
  });
});
