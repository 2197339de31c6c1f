import type { BulkAction, BulkKind, BulkPreview } from '#dlq-client';
import { count, plain, several, shortId, tableOf, time, type Columns } from '../output/table.js';

export const ACTION_COLUMNS: Columns<BulkAction> = {
  ACTION: ({ id }) => shortId(id),
  KIND: 'kind',
  STATUS: 'status',
  TOTAL: 'total',
  DONE: 'done',
  SKIPPED: 'skipped',
  'BY:40': 'createdBy',
  CREATED: ({ createdAt }) => time(createdAt),
};

const DONE: Record<BulkKind, string> = {
  requeue: 'requeued',
  discard: 'discarded',
  restore: 'restored',
};

/** What would happen: how many, why the others would not, and the causes by size. */
export function previewReport(kind: BulkKind, preview: BulkPreview): string {
  const { total, eligible, skipped, reasons, queues } = preview;
  const matching = `${several(total, 'letter')} match${total === 1 ? 'es' : ''}`;
  const would = `${count(eligible)} would be ${DONE[kind]}${tail(skipped)}`;
  if (reasons.length === 0) return `${matching}; ${would}\n`;
  const causes = tableOf(reasons, {
    GROUP: ({ group }) => shortId(group),
    LETTERS: 'count',
    'ERROR:80': ({ errorName, message }) => `${errorName}: ${message}`,
  });
  return `${matching}; ${would}\n${causes}\n${tableOf(queues, { 'QUEUE:60': 'queue', LETTERS: 'count' })}`;
}

export function actionLine({ kind, total, done, skipped, failedAgain, canary }: BulkAction): string {
  const step = canary ? `, canary step ${canary.step + 1}${canary.waiting ? ' awaits its outcome' : ''}` : '';
  return `${kind} ${count(done + skipped)} of ${count(total)}, skipped ${count(skipped)}, failed again ${count(failedAgain)}${step}`;
}

export function outcomeLine(action: BulkAction): string {
  if (action.status === 'pending')
    return `${action.kind} of ${count(action.total)} letters waits for a second person until ${time(action.approveBefore ?? 0)}: \`millrace dlq approve ${plain(action.id)}\` with another key`;
  const { kind, status, total, done, failedAgain, skippedReasons, reason } = action;
  const again = failedAgain > 0 ? `; ${count(failedAgain)} failed again` : '';
  const left =
    action.waiting > 0
      ? `; ${count(action.waiting)} left: \`millrace dlq continue ${plain(action.id)}\``
      : '';
  const why = status === 'completed' ? '' : `; ${status}${reason ? `: ${plain(reason)}` : ''}`;
  return `${count(done)} of ${count(total)} ${DONE[kind]}${tail(skippedReasons)}${again}${why}${left} (action ${plain(action.id)})`;
}

function tail(skipped: readonly { reason: string; count: number }[]): string {
  const reasons = skipped.map(({ reason, count: letters }) => `${plain(reason)} ${count(letters)}`);
  return reasons.length > 0 ? `; skipped: ${reasons.join(', ')}` : '';
}
