import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLogger } from '#service';
import { BatchRefusedError, DestinationAwayError } from './analyzer.errors.js';
import { DestinationGate } from './destination-gate.js';

const AWAY = (): Promise<never> => Promise.reject(new DestinationAwayError('status 503'));
const TAKEN = (): Promise<string> => Promise.resolve('taken');
const live = new AbortController().signal;

describe('DestinationGate', () => {
  let gate: DestinationGate;
  let now: number;
  let sleepers: { at: number; wake: () => void }[];

  beforeEach(() => {
    now = 0;
    sleepers = [];
    gate = new DestinationGate({
      target: 'http://analyser.test/',
      logger: silentLogger,
      clock: { now: () => now, monotonic: () => now },
      wait: (ms, signal) =>
        new Promise((wake) => {
          sleepers.push({ at: now + ms, wake });
          signal?.addEventListener('abort', () => wake());
        }),
    });
  });

  const advance = async (ms: number): Promise<void> => {
    now += ms;
    for (const { wake } of sleepers.filter(({ at }) => at <= now)) wake();
    for (let turns = 0; turns < 5; turns++) await nextTurn();
  };
  const failure = (id: string, send: () => Promise<unknown>): Promise<unknown> =>
    gate.deliver(id, live, send).catch((error: unknown) => error);

  it('uses up no attempt of any batch while the destination fails for all, however long', async () => {
    for (let round = 0; round < 20; round++) {
      const outcome = failure(`b-${round % 3}`, AWAY);
      await advance(30_000);
      expect(await outcome).toMatchObject({ outcome: 'retry' });
    }
    expect(gate.health()).toMatchObject({
      status: 'down',
      reason: expect.stringMatching(/^waiting for http:\/\/analyser\.test\/ since 1970-.*: status 503$/),
    });
  });

  it('sends one batch to find out, and all when it is taken', async () => {
    await failure('b-1', AWAY);
    const sent: string[] = [];
    let take: (() => void) | undefined;
    const waiting = ['b-2', 'b-3', 'b-4'].map((id) =>
      gate.deliver(id, live, () => {
        sent.push(id);
        return new Promise<void>((resolve) => (take = resolve));
      }),
    );
    await advance(500);
    expect(sent).toEqual([]);
    await advance(500);
    expect(sent).toHaveLength(1);
    await advance(10_000);
    expect(sent).toHaveLength(1);
    take?.();
    await advance(0);
    expect(sent).toHaveLength(3);
    expect(gate.health().status).toBe('up');
    take?.();
    void waiting;
  });

  it('asks less and less often', async () => {
    const waits: number[] = [];
    for (let round = 0; round < 7; round++) {
      const outcome = failure('b-1', AWAY);
      await advance(30_000);
      waits.push(((await outcome) as { delayMs: number }).delayMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('counts the attempts of a batch that fails again and again while others pass', async () => {
    expect(await failure('b-1', AWAY)).toMatchObject({ outcome: 'retry' });
    const other = gate.deliver('b-2', live, TAKEN);
    await advance(1_000);
    expect(await other).toEqual({ outcome: 'delivered', delivery: 'taken' });
    for (let attempt = 1; attempt <= 3; attempt++)
      expect(await failure('b-1', AWAY)).toBeInstanceOf(DestinationAwayError);
    expect(gate.health().status).toBe('up');
    // Now another fails too: it is the destination.
    expect(await failure('b-3', AWAY)).toMatchObject({ outcome: 'retry' });
    const again = failure('b-1', AWAY);
    await advance(1_000);
    expect(await again).toMatchObject({ outcome: 'retry' });
  });

  it('never blames a batch when the destination says that it is busy', async () => {
    const busy = (): Promise<never> =>
      Promise.reject(new DestinationAwayError('status 429', { busy: true, retryAfterMs: 7_000 }));
    expect(await failure('b-1', busy)).toMatchObject({ outcome: 'retry', delayMs: 7_000 });
    const other = gate.deliver('b-2', live, TAKEN);
    await advance(7_000);
    await other;
    expect(await failure('b-1', busy)).toMatchObject({ outcome: 'retry', delayMs: 7_000 });
  });

  it('does not hammer a destination that asks for no pause', async () => {
    const hasty = (): Promise<never> =>
      Promise.reject(new DestinationAwayError('status 429', { busy: true, retryAfterMs: 0 }));
    let requests = 0;
    for (let second = 0; second < 60; second++) {
      void failure(`b-${second % 16}`, () => {
        requests++;
        return hasty();
      });
      await advance(1_000);
    }
    expect(requests).toBeLessThanOrEqual(7);
  });

  it('takes a refusal for an answer: the batch is at fault, the destination is there', async () => {
    await failure('b-1', AWAY);
    const refused = failure('b-2', () => Promise.reject(new BatchRefusedError(422, 'too long')));
    await advance(1_000);
    expect(await refused).toBeInstanceOf(BatchRefusedError);
    expect(gate.health().status).toBe('up');
  });

  it('hands waiting batches back when it stops, and lets go of one that is no longer ours', async () => {
    await failure('b-1', AWAY);
    const lost = new AbortController();
    const abandoned = gate.deliver('b-2', lost.signal, TAKEN).catch((error: unknown) => error);
    const waiting = failure('b-3', TAKEN);
    await advance(0);
    lost.abort(new Error('lock lost'));
    expect(await abandoned).toMatchObject({ message: 'lock lost' });
    gate.stop();
    expect(await waiting).toMatchObject({ outcome: 'retry' });
  });

  it('lets another batch find out when the one that was to was taken away', async () => {
    await failure('b-1', AWAY);
    const lost = new AbortController();
    const probe = gate
      .deliver(
        'b-2',
        lost.signal,
        () => new Promise((_, reject) => lost.signal.addEventListener('abort', reject)),
      )
      .catch(() => 'gone');
    await advance(1_000);
    const next = gate.deliver('b-3', live, TAKEN);
    lost.abort();
    expect(await probe).toBe('gone');
    await advance(0);
    expect(await next).toEqual({ outcome: 'delivered', delivery: 'taken' });
  });
});
