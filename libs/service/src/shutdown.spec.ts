import { describe, expect, it } from '@jest/globals';
import { silentLogger } from './index.js';
import { Shutdown } from './shutdown.js';

function shutdownWith(
  stop: () => Promise<void>,
  timeoutMs = 60_000,
): { shutdown: Shutdown; exited: Promise<number> } {
  let exit: (code: number) => void = () => {};
  const exited = new Promise<number>((resolve) => (exit = resolve));
  return {
    shutdown: new Shutdown({ logger: silentLogger, timeoutMs, stop, exit: (code) => exit(code) }),
    exited,
  };
}

describe('Shutdown', () => {
  it('stops once and exits with the first code, however often it is asked', async () => {
    let stops = 0;
    const { shutdown, exited } = shutdownWith(async () => void stops++);
    await Promise.all([shutdown.begin('SIGTERM', 0), shutdown.begin('SIGINT', 70)]);
    await shutdown.begin('again', 1);
    expect([stops, await exited]).toEqual([1, 0]);
  });

  it('exits by force with code 75 when stopping takes too long', async () => {
    const { shutdown, exited } = shutdownWith(() => new Promise(() => {}), 10);
    void shutdown.begin('SIGTERM', 0);
    expect(await exited).toBe(75);
  });

  it('exits with 1 when stopping fails, and keeps a worse code', async () => {
    const failing = async (): Promise<void> => {
      throw new Error('stuck');
    };
    const first = shutdownWith(failing);
    await first.shutdown.begin('SIGTERM', 0);
    expect(await first.exited).toBe(1);
    const second = shutdownWith(failing);
    await second.shutdown.begin('uncaughtException', 70);
    expect(await second.exited).toBe(70);
  });
});
