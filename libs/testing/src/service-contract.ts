import type { Service } from '#service';
import { jestGlobals } from './jest-globals.js';

const ROUNDS = 25;

/**
 * The promise that every Service keeps, as tests: start and stop in any order, any number of times, at any moment.
 * `create` makes a fresh, working part; `running` tells whether anything of it still runs.
 */
export function serviceContract(
  name: string,
  create: () => Service | Promise<Service>,
  running: (service: Service) => boolean,
): void {
  const { describe, expect, it } = jestGlobals();
  const signal = (): AbortSignal => new AbortController().signal;

  describe(`${name} as a service`, () => {
    it('stops before it was started', async () => {
      const service = await create();
      await service.stop();
      expect(running(service)).toBe(false);
    });

    it('runs after start and not after stop', async () => {
      const service = await create();
      await service.start(signal());
      expect(running(service)).toBe(true);
      await service.stop();
      expect(running(service)).toBe(false);
    });

    it('stops once for many who ask at the same time', async () => {
      const service = await create();
      await service.start(signal());
      await Promise.all(Array.from({ length: 10 }, () => service.stop()));
      expect(running(service)).toBe(false);
    });

    it('stops while it is starting', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const service = await create();
        const abort = new AbortController();
        const starting = service.start(abort.signal).catch(() => {});
        for (let turn = 0; turn < round; turn++) await Promise.resolve();
        abort.abort();
        await service.stop();
        await starting;
        await service.stop();
        expect(running(service)).toBe(false);
      }
    });
  });
}
