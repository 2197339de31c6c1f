import { FILE_STATES, type PipelineView } from '#dlq-client';
import { queueTable } from '../commands/queues.command.js';
import { bytes, count, duration, several, tableOf, time } from '../output/table.js';

const NO_QUEUES = 'Queues: no fleet is running here (set MILLRACE_REDIS_URL to look at one elsewhere)\n';

/** The pipeline at a glance, for a terminal. */
export function statusReport(view: PipelineView): string {
  return [
    view.scans.map(scanLine).join(''),
    tableOf(
      FILE_STATES.filter((state) => view.files[state] > 0),
      {
        FILES: (state) => state,
        COUNT: (state) => view.files[state],
        SIZE: (state) => bytes(view.bytes[state]),
      },
    ),
    workLines(view),
    view.queues ? queueTable(view.queues) : NO_QUEUES,
    view.workers && view.workers.length > 0 ? workerTable(view.workers, view.at) : '',
  ]
    .filter(Boolean)
    .join('\n');
}

/** The same in a line, for a log. */
export function statusLine({ files, letters, events, queues, remainingMs }: PipelineView): string {
  const states = FILE_STATES.filter((state) => files[state] > 0).map(
    (state) => `${state} ${count(files[state])}`,
  );
  const paused = (queues ?? []).filter((queue) => queue.paused).map(({ queue }) => `${queue} is paused`);
  return [
    ...(states.length > 0 ? states : ['no files yet']),
    ...(events.pending > 0 ? [`events pending ${count(events.pending)}`] : []),
    ...(letters.open > 0 ? [`open dead letters ${count(letters.open)}`] : []),
    ...paused,
    ...(remainingMs ? [`about ${duration(remainingMs)} left`] : []),
  ].join(', ');
}

function scanLine(scan: PipelineView['scans'][number]): string {
  const { root, outcome, files, expectedFiles, folders, errors } = scan;
  const of = outcome === 'running' && expectedFiles ? ` of about ${count(expectedFiles)}` : '';
  const told = errors > 0 ? `, ${several(errors, 'error')}` : '';
  return `Scan of ${root}: ${outcome}, ${several(files, 'file')}${of} in ${several(folders, 'folder')}${told}\n`;
}

function workLines({ batches, events, letters, throughput, remainingMs }: PipelineView): string {
  const fill = batches.meanFill === null ? '' : `, ${Math.round(batches.meanFill * 100)} % full on average`;
  const hour = (what: 'delivered' | 'failed' | 'skipped'): string =>
    count(throughput.reduce((sum, point) => sum + point[what], 0));
  const left =
    remainingMs === null ? 'not to be told' : remainingMs === 0 ? 'none' : `about ${duration(remainingMs)}`;
  return `Batches ${count(batches.total)}, not delivered ${count(batches.open)}${fill}
Events pending ${count(events.pending)} (oldest ${duration(events.oldestPendingMs)}), dead ${count(events.dead)}
Dead letters open ${count(letters.open)}, requeued ${count(letters.requeued)}, resolved ${count(letters.resolved)}, discarded ${count(letters.discarded)}
Last hour: delivered ${hour('delivered')}, failed ${hour('failed')}, skipped ${hour('skipped')}; time left: ${left}
`;
}

function workerTable(workers: NonNullable<PipelineView['workers']>, now: number): string {
  return tableOf(workers, {
    WORKER: 'id',
    DOES: ({ jobs, app }) =>
      jobs.map(({ queue, active }) => `${several(active, 'job')} of ${queue}`).join(', ') || app,
    'LAST SEEN': ({ state, lastSeenAt: at }) =>
      state === 'alive' ? 'now' : `${duration(Math.max(0, now - at))} ago (${time(at)})`,
  });
}
