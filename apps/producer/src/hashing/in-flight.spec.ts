import { describe, expect, it } from '@jest/globals';
import { InFlight } from './in-flight.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function item(): { id: string; process: () => Promise<void>; end: (error?: Error) => void } {
  let end!: (error?: Error) => void;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { id: 'item', process: () => ended, end };
}

describe('items in flight', () => {
  it.each([undefined, new Error('failed')])(
    'are as many as allowed until one ends, with %p',
    async (error) => {
      const inFlight = new InFlight(2, new AbortController().signal);
      const first = item();
      const admitted = await inFlight.admit(first);
      await inFlight.admit(item());
      let third = false;
      const waiting = inFlight.admit(item()).then(() => (third = true));
      await turn();
      expect(third).toBe(false);
      const run = admitted.process(new AbortController().signal).catch((thrown: unknown) => thrown);
      first.end(error);
      expect(await run).toBe(error);
      await waiting;
      expect(third).toBe(true);
    },
  );

  it('are not waited for after an abort: abandoned items never end', async () => {
    const stop = new AbortController();
    const inFlight = new InFlight(1, stop.signal);
    await inFlight.admit(item());
    const waiting = inFlight.admit(item());
    stop.abort();
    expect((await waiting).id).toBe('item');
  });
});
