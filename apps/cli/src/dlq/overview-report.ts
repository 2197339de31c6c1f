import type { Group, Stats } from '#dlq-client';
import { count, duration, plain, short, table, time, type Cell } from '../output/table.js';

export const GROUP_HEADER = ['GROUP', 'OPEN', 'TOTAL', 'LAST', 'QUEUES', 'ERROR', 'FRAME'];

export function groupRow({ id, open, total, lastSeenAt, queues, errorName, message, frame }: Group): Cell[] {
  return [
    id,
    open,
    total,
    time(lastSeenAt),
    short(queues.map(({ queue }) => queue).join(', '), 40),
    short(`${errorName}: ${message}`, 80),
    short(frame, 60),
  ];
}

/** How things stand, as a block of lines. */
export function statsLines(stats: Stats): string[] {
  const { open, requeued, discarded, deadEvents, waiting, queues, alerts, at } = stats;
  const arriving = waiting === null ? 'Redis does not answer' : `${count(waiting)} to be taken in`;
  const rows = queues.map((one) => [
    short(one.queue, 60),
    one.open,
    one.total,
    one.oldestAt === null ? '' : duration(Math.max(0, at - one.oldestAt)),
  ]);
  return [
    `Open ${count(open)}, requeued ${count(requeued)}, discarded ${count(discarded)}; ${arriving}; dead events ${count(deadEvents)}`,
    ...(rows.length > 0 ? table(['QUEUE', 'OPEN', 'TOTAL', 'OLDEST'], rows).trimEnd().split('\n') : []),
    ...alerts
      .filter(({ state }) => state === 'firing')
      .map(({ rule, value, since }) => plain(`ALERT ${rule}: ${count(value)} since ${time(since)}`)),
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
