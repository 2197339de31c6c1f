import { Contract } from '#contracts';
import { jobIdOf, readEvent, type ClaimedEvent } from '#outbox';
import { EnqueueError, type EnqueueItem, type QueueManager } from '#queue-manager';
import { Coalescer, errorCode, faultPoint } from '#service';

export interface Refusal {
  event: ClaimedEvent;
  error: unknown;
}

/** What became of the events that were to be published. Each is in exactly one list. */
export interface Publication {
  published: ClaimedEvent[];
  /** The queue does not take them: their own fault. */
  refused: Refusal[];
  /** Not known to be published: the broker's fault. To be published again under the same id. */
  unsent: ClaimedEvent[];
  outage: Error | undefined;
}

interface Group {
  queue: string;
  contract: Contract<unknown>;
  items: Item[];
}

type Item = EnqueueItem<unknown> & { event: ClaimedEvent };

const OUTAGE = new Set(['CIRCUIT_OPEN', 'REDIS_UNAVAILABLE', 'REDIS_CLOSED', 'QUEUE_MANAGER_CLOSED']);

/**
 * Publishes events in bulk, a queue at a time and in the order given. A bulk that fails for another reason than an outage
 * is halved until the event at fault stands alone, so one bad event costs the others nothing but a few round trips.
 */
export class EventBroker {
  // Not by @InjectQueue: an event names its queue, and a letter may be requeued to any.
  constructor(private readonly queues: Pick<QueueManager, 'getQueue'>) {}

  async publish(events: readonly ClaimedEvent[]): Promise<Publication> {
    const publication: Publication = { published: [], refused: [], unsent: [], outage: undefined };
    for (const group of groupsOf(events, publication)) {
      await this.send(group, publication);
      await faultPoint('publisher.mid-batch');
    }
    return publication;
  }

  private async send(group: Group, publication: Publication): Promise<void> {
    const sender = new Coalescer<Item, 'published' | 'unsent'>({
      work: (items) => this.enqueue(group, items, publication),
    });
    const each = group.items.map(async (item) => {
      try {
        publication[await sender.add(item)].push(item.event);
      } catch (error) {
        publication.refused.push({ event: item.event, error: reasonOf(error) });
      }
    });
    await Promise.all(each);
  }

  private async enqueue({ queue, contract }: Group, items: readonly Item[], publication: Publication) {
    if (publication.outage) return items.map(() => 'unsent' as const);
    try {
      await this.queues.getQueue(queue).enqueue(contract, items);
      return items.map(() => 'published' as const);
    } catch (error) {
      if (!OUTAGE.has(errorCode(reasonOf(error)) ?? '')) throw error;
      publication.outage = error as Error;
      const unsent = error instanceof EnqueueError ? new Set(error.failedIds) : undefined;
      return items.map(({ jobId }) => (unsent?.has(jobId) === false ? 'published' : 'unsent'));
    }
  }
}

/** Events by queue and name, in the order given; what cannot be read is refused here. */
function groupsOf(events: readonly ClaimedEvent[], publication: Publication): Group[] {
  const groups = new Map<string, Group>();
  for (const event of events)
    try {
      const { queue, eventName } = event;
      const { payload, options } = readEvent(event);
      const key = JSON.stringify([queue, eventName]);
      // The consumer checks the payload; the job only bears the event's name.
      const group = groups.get(key) ?? { queue, contract: new Contract(eventName, () => []), items: [] };
      group.items.push({ ...options, jobId: jobIdOf(event.id), payload, event });
      groups.set(key, group);
    } catch (error) {
      publication.refused.push({ event, error });
    }
  return [...groups.values()];
}

function reasonOf(error: unknown): unknown {
  return error instanceof EnqueueError && error.cause !== undefined ? error.cause : error;
}
