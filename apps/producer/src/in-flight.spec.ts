import { describe, expect, it } from '@jest/globals';
import type { WorkItem } from '#worker-pool';
import { InFlight } from './in-flight.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function item(): WorkItem & { end: (error?: Error) => void } {
  let end!: (error?: Error) => void;
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { id: 'item', process: () => ended, end };
}

/** A pool that starts what is submitted when it is told to. */
function inFlightOf(signal = new AbortController().signal) {
  const submitted: WorkItem[] = [];
  const inFlight = new InFlight({ submit: async (one) => void submitted.push(one) }, signal);
  return { inFlight, submitted };
}

describe('items in flight', () => {
  it.each([undefined, new Error('failed')])(
    'are counted from their submission until they end, with %p',
    async (error) => {
      const { inFlight, submitted } = inFlightOf();
      const first = item();
      await inFlight.submit(first);
      await inFlight.submit(item());
      expect(inFlight.count).toBe(2);
      let reached = false;
      const waiting = inFlight.until(() => inFlight.count < 2).then(() => (reached = true));
      await turn();
      expect(reached).toBe(false);
      const run = submitted[0]!.process(new AbortController().signal).catch((thrown: unknown) => thrown);
      first.end(error);
      expect(await run).toBe(error);
      await waiting;
      expect(inFlight.count).toBe(1);
    },
  );

  it('are not waited for after an abort: abandoned items never end', async () => {
    const stop = new AbortController();
    const { inFlight } = inFlightOf(stop.signal);
    await inFlight.submit(item());
    const waiting = inFlight.until(() => inFlight.count === 0);
    stop.abort();
    await expect(waiting).resolves.toBeUndefined();
  });
});
