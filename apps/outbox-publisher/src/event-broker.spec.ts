import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ClaimedEvent } from '#outbox';
import { EnqueueError, type EnqueueItem, type JobQueue } from '#queue-manager';
import { CircuitOpenError } from '#redis';
import { EventBroker } from './event-broker.js';

const event = (id: string, over: Partial<ClaimedEvent> = {}): ClaimedEvent => ({
  id,
  queue: 'q',
  eventName: 'named',
  payload: JSON.stringify({ of: id }),
  jobOptions: null,
  orderingKey: null,
  createdAt: 1,
  attempts: 0,
  trace: null,
  ...over,
});
const idsOf = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);

/** A queue that takes all but the poisonous, a whole bulk failing with one; and nothing at all after `limit` calls. */
class FakeQueues {
  readonly sent: { queue: string; name: string; item: EnqueueItem<unknown> }[] = [];
  calls = 0;

  constructor(
    private readonly poison: ReadonlySet<string> = new Set(),
    private readonly limit = Infinity,
  ) {}

  getQueue(queue: string): JobQueue {
    const enqueue: JobQueue['enqueue'] = (contract, items) => this.enqueue(queue, contract, items);
    return { enqueue } as JobQueue;
  }

  private async enqueue(
    queue: string,
    contract: { name: string },
    items: readonly EnqueueItem<unknown>[],
  ): Promise<void> {
    const ids = items.map(({ jobId }) => jobId);
    if (++this.calls > this.limit) throw new EnqueueError(queue, ids, 0, new CircuitOpenError(1_000));
    if (ids.some((id) => this.poison.has(id))) throw new EnqueueError(queue, ids, 0, new Error('refused'));
    this.sent.push(...items.map((item) => ({ queue, name: contract.name, item })));
  }
}

describe('the event broker', () => {
  it('publishes the payload, with the trace it was appended under, as a job named after the event', async () => {
    const queues = new FakeQueues();
    await new EventBroker(queues).publish([
      event('a', { trace: 'T', jobOptions: '{"priority":4,"attempts":2}' }),
    ]);
    expect(queues.sent).toMatchObject([
      {
        queue: 'q',
        name: 'named',
        item: { jobId: 'e-a', payload: { of: 'a', trace: 'T' }, priority: 4, attempts: 2 },
      },
    ]);
  });

  it('sends one bulk a queue, in the order given', async () => {
    const queues = new FakeQueues();
    await new EventBroker(queues).publish([event('1'), event('2', { queue: 'r' }), event('3')]);
    expect(queues.calls).toBe(2);
    expect(queues.sent.map(({ item }) => item.jobId)).toEqual(['e-1', 'e-3', 'e-2']);
  });

  it('finds the event at fault in a large bulk with few calls', async () => {
    const events = Array.from({ length: 512 }, (_, n) => event(`${n}`));
    const queues = new FakeQueues(new Set(['e-300']));
    const { published, refused } = await new EventBroker(queues).publish(events);
    expect([idsOf(refused.map((refusal) => refusal.event)), published.length]).toEqual([['300'], 511]);
    expect(queues.calls).toBeLessThanOrEqual(20);
  });

  it.each(['{not json', '[]', '7', 'null'])(
    'refuses only the event whose stored payload is %s',
    async (payload) => {
      const { published, refused } = await new EventBroker(new FakeQueues()).publish([
        event('bad', { payload }),
        event('good'),
      ]);
      expect(idsOf(published)).toEqual(['good']);
      expect(refused).toMatchObject([{ event: { id: 'bad' }, error: { code: 'OUTBOX_UNREADABLE_EVENT' } }]);
    },
  );

  it('keeps what was confirmed of a bulk that failed in part', async () => {
    const enqueue = (): Promise<void> =>
      Promise.reject(new EnqueueError('q', ['e-2'], 1, new CircuitOpenError(5)));
    const queues = { getQueue: () => ({ enqueue }) as unknown as JobQueue };
    const publication = await new EventBroker(queues).publish([event('1'), event('2')]);
    expect([idsOf(publication.published), idsOf(publication.unsent)]).toEqual([['1'], ['2']]);
  });

  it('puts every event into exactly one list, whatever is poisonous and whenever the broker goes away', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40 }),
        fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 10 }),
        fc.integer({ min: 0, max: 30 }),
        async (numbers, poison, limit) => {
          const events = numbers.map((n) => event(`${n}`, { queue: `q${n % 3}` }));
          const queues = new FakeQueues(new Set(poison.map((n) => `e-${n}`)), limit);
          const result = await new EventBroker(queues).publish(events);
          const refused = idsOf(result.refused.map((refusal) => refusal.event));
          const all = [...idsOf(result.published), ...refused, ...idsOf(result.unsent)];
          expect(all.toSorted()).toEqual(idsOf(events).toSorted());
          expect(queues.sent.map(({ item }) => item.jobId).toSorted()).toEqual(
            idsOf(result.published)
              .map((id) => `e-${id}`)
              .toSorted(),
          );
          for (const id of refused) expect(poison).toContain(Number(id));
          expect(result.unsent.length > 0).toBe(result.outage !== undefined);
        },
      ),
    );
  });
});
