import type { Group, Stats } from '#dlq-client';
import { count, duration, factLines, plain, shortId, tableOf, time, type Columns } from '../output/table.js';

export const GROUP_COLUMNS: Columns<Group> = {
  GROUP: ({ id }) => shortId(id),
  OPEN: 'open',
  LAST: ({ lastSeenAt }) => time(lastSeenAt),
  'OWNER:20': 'owner',
  'ERROR:200': ({ errorName, newest, message }) => `${errorName}: ${newest ?? message}`,
};

/** One cause with what people have left on it. */
export function groupReport(group: Group, now = Date.now()): string {
  const { mutedUntil, queues, workers } = group;
  return factLines([
    ['Group', group.id],
    ['Error', `${group.errorName}: ${group.newest ?? group.message}`],
    ['Pattern', group.message],
    ['Where', group.frame || null],
    ['Letters', `${count(group.open)} open, ${count(group.total)} in all`],
    ['Seen', `${time(group.firstSeenAt)} to ${time(group.lastSeenAt)}`],
    ['Last day', `${count(group.recent.reduce((sum, n) => sum + n, 0))} came`],
    ['Queues', queues.map(({ queue, open }) => `${queue} ${count(open)}`).join(', ')],
    ['Workers', workers.map(({ worker, total }) => `${worker} ${count(total)}`).join(', ')],
    ['Owner', group.owner],
    ['Note', group.note],
    ['Muted', mutedUntil && mutedUntil > now ? `until ${time(mutedUntil)}` : null],
    ['Merged', group.mergedInto && `into ${group.mergedInto}`],
    ['Split', group.splitBy && `by ${group.splitBy}`],
  ]);
}

/** How things stand, as a block of lines. */
export function statsLines(stats: Stats): string[] {
  const { open, requeued, discarded, deadEvents, waiting, queues, alerts, at } = stats;
  const arriving = waiting === null ? 'Redis does not answer' : `${count(waiting)} to be taken in`;
  const table = tableOf(queues, {
    'QUEUE:60': 'queue',
    OPEN: 'open',
    TOTAL: 'total',
    OLDEST: ({ oldestAt }) => (oldestAt === null ? '' : duration(Math.max(0, at - oldestAt))),
  });
  return [
    `Open ${count(open)}, requeued ${count(requeued)}, discarded ${count(discarded)}; ${arriving}; dead events ${count(deadEvents)}`,
    ...(queues.length > 0 ? table.trimEnd().split('\n') : []),
    ...alerts
      .filter(({ state }) => state === 'firing')
      .map(({ rule, words, since, acknowledgedBy: by }) =>
        plain(`ALERT ${rule}: ${words}; since ${time(since)}${by ? `, ${by} looks after it` : ''}`),
      ),
  ];
}

/** The same in one line, for logs. */
export function statsLine({ at, open, requeued, discarded, deadEvents, waiting, alerts }: Stats): string {
  const firing = alerts.filter(({ state }) => state === 'firing').map(({ rule }) => rule);
  return plain(
    `${time(at)} open=${open} requeued=${requeued} discarded=${discarded} waiting=${waiting ?? 'unknown'} dead_events=${deadEvents}` +
      ` alerts=${firing.join(',') || 'none'}`,
  );
}
