import { QUEUE } from '#contracts';
import type { BulkAction, BulkRequest, DlqClient } from '#dlq-client';
import { sleep } from '#service';
import { isRunning, outcomeLine, POLL_MS, retried } from '../dlq/bulk.js';
import { pages, type FetchPage } from '../output/paged.js';
import { several } from '../output/table.js';

const NOTE = 'millrace run --retry-failed';
// In steps, since only those are followed to the end of each letter's job; none stops the ones after it.
const STEPS = { steps: [1_000], maxFailures: 100_000 };

/**
 * Offers what failed again, through the dlq-admin of this run: with its checks, its history and its audit log. Resolves when
 * every letter has come to its end, good or bad: until then its file is `failed`, and nothing else tells that it is on its way.
 */
export async function retryFailed(
  admin: DlqClient,
  stop: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  // A dlq-admin that starts, or is started again, answers in a moment; what keeps it from that, the run's view tells.
  const ask: Ask = (call) => retried(() => call(admin), stop);
  const events = await requeueEvents(ask);
  const { queues } = await ask((dlq) => dlq.preview(openLetters()));
  // A letter of the dead-letter queue itself tells of something that is no job of ours.
  const ours = queues.filter(({ queue }) => queue !== QUEUE.deadLetter);
  const letters = ours.reduce((sum, { count }) => sum + count, 0);
  const both = [letters && several(letters, 'dead letter'), events && several(events, 'dead event')];
  say(`Offered again: ${both.filter(Boolean).join(', ') || 'nothing, since nothing has failed'}.`);
  for (const { queue } of ours) {
    const ended = await requeueLetters(queue, ask, stop);
    if (ended && (ended.status !== 'completed' || ended.skipped > 0)) say(outcomeLine(ended));
  }
}

type Ask = <T>(call: (dlq: DlqClient) => Promise<T>) => Promise<T>;

const openLetters = (queue?: string): BulkRequest => ({
  kind: 'requeue',
  filter: { status: 'open', ...(queue !== undefined && { queue }) },
});

async function requeueEvents(ask: Ask): Promise<number> {
  const ids: string[] = [];
  const fetch: FetchPage<{ id: string }> = (page) => ask((dlq) => dlq.deadEvents(page));
  for await (const { items } of pages(fetch, { limit: 1, all: true })) ids.push(...items.map(({ id }) => id));
  for (const id of ids) await ask((dlq) => dlq.requeueEvent(id));
  return ids.length;
}

async function requeueLetters(queue: string, ask: Ask, stop: AbortSignal): Promise<BulkAction | undefined> {
  const request = openLetters(queue);
  const { total, confirm } = await ask((dlq) => dlq.preview(request));
  if (total === 0) return undefined;
  let action = await ask((dlq) => dlq.startBulk({ ...request, confirm, canary: STEPS, note: NOTE }));
  while (!stop.aborted && isRunning(action)) {
    await sleep(POLL_MS, stop);
    action = await ask((dlq) => dlq.bulkAction(action.id));
  }
  return action;
}
