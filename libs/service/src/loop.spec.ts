import { describe, expect, it } from '@jest/globals';
import { serviceContract } from '#testing';
import { Loop, silentLogger } from './index.js';

const NEVER = 2 ** 30;

function countingLoop(idleMs = NEVER): { loop: Loop; rounds: () => number; next: () => Promise<void> } {
  let rounds = 0;
  let told: () => void = () => {};
  const loop = new Loop({
    name: 'counter',
    logger: silentLogger,
    idleMs,
    tick: async () => {
      rounds++;
      told();
    },
  });
  return { loop, rounds: () => rounds, next: () => new Promise((resolve) => (told = resolve)) };
}

describe('Loop', () => {
  it('runs the first round at once and then idles', async () => {
    const { loop, rounds, next } = countingLoop();
    const first = next();
    await loop.start();
    await first;
    await loop.stop();
    expect(rounds()).toBe(1);
  });

  it('begins a new round when woken', async () => {
    const { loop, rounds, next } = countingLoop();
    const first = next();
    await loop.start();
    await first;
    const second = next();
    loop.wake();
    await second;
    await loop.stop();
    expect(rounds()).toBe(2);
  });

  it('does not lose a wake that comes during a round', async () => {
    const rounds: number[] = [];
    let done: () => void = () => {};
    const twice = new Promise<void>((resolve) => (done = resolve));
    const loop: Loop = new Loop({
      name: 'self',
      logger: silentLogger,
      idleMs: NEVER,
      tick: async () => {
        if (rounds.push(1) === 1) loop.wake();
        else done();
      },
    });
    await loop.start();
    await twice;
    await loop.stop();
    expect(rounds).toHaveLength(2);
  });

  it('goes on without a wait while there is more to do', async () => {
    let left = 50;
    let done: () => void = () => {};
    const drained = new Promise<void>((resolve) => (done = resolve));
    const loop = new Loop({
      name: 'busy',
      logger: silentLogger,
      idleMs: NEVER,
      tick: async () => {
        if (--left === 0) done();
        return left > 0;
      },
    });
    await loop.start();
    await drained;
    await loop.stop();
    expect(left).toBe(0);
  });

  it('survives a round that throws and tries again', async () => {
    let rounds = 0;
    let done: () => void = () => {};
    const again = new Promise<void>((resolve) => (done = resolve));
    const loop = new Loop({
      name: 'failing',
      logger: silentLogger,
      idleMs: NEVER,
      maxBackoffMs: 5,
      tick: async () => {
        if (++rounds < 3) throw new Error('no');
        done();
      },
    });
    await loop.start();
    await again;
    await loop.stop();
    expect(rounds).toBe(3);
  });

  it('stops only when the round in progress has ended', async () => {
    let finish: () => void = () => {};
    let ended = false;
    const loop = new Loop({
      name: 'slow',
      logger: silentLogger,
      idleMs: NEVER,
      tick: () => new Promise<void>((resolve) => (finish = resolve)).then(() => void (ended = true)),
    });
    await loop.start();
    const stopping = loop.stop().then(() => ended);
    finish();
    expect(await stopping).toBe(true);
  });

  it('tells the round in progress that it should end', async () => {
    const loop = new Loop({
      name: 'patient',
      logger: silentLogger,
      idleMs: NEVER,
      tick: (signal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    });
    await loop.start();
    await expect(loop.stop()).resolves.toBeUndefined();
  });

  const live = new Map<unknown, boolean>();
  serviceContract(
    'a loop',
    () => {
      const loop = new Loop({
        name: 'contract',
        logger: silentLogger,
        idleMs: 1,
        tick: async (signal) => {
          live.set(loop, true);
          signal.addEventListener('abort', () => live.set(loop, false));
        },
      });
      return loop;
    },
    (service) => live.get(service) ?? false,
  );
});
