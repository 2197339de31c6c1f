import type { BulkAction, BulkKind, BulkPreview } from '#dlq-client';
import { count, plain, several, short, shortId, table, time, type Cell } from '../output/table.js';

export const ACTION_HEADER = ['ACTION', 'KIND', 'STATUS', 'TOTAL', 'DONE', 'SKIPPED', 'BY', 'CREATED'];

export function actionRow(action: BulkAction): Cell[] {
  const { id, kind, status, total, done, skipped, createdBy, createdAt } = action;
  return [shortId(id), kind, status, total, done, skipped, short(createdBy, 40), time(createdAt)];
}

const DONE: Record<BulkKind, string> = {
  requeue: 'requeued',
  discard: 'discarded',
  restore: 'restored',
};

/** What would happen: how many, why the others would not, and the causes by size. */
export function previewReport(kind: BulkKind, preview: BulkPreview): string {
  const { total, eligible, skipped, reasons, queues } = preview;
  return [
    `${several(total, 'letter')} match${total === 1 ? 'es' : ''}; ${count(eligible)} would be ${DONE[kind]}${tail(skipped)}`,
    ...(reasons.length > 0
      ? [
          table(
            ['GROUP', 'LETTERS', 'ERROR'],
            reasons.map((one) => [
              shortId(one.group),
              one.count,
              short(`${one.errorName}: ${one.message}`, 80),
            ]),
          ),
          table(
            ['QUEUE', 'LETTERS'],
            queues.map((one) => [short(one.queue, 60), one.count]),
          ),
        ]
      : ['']),
  ].join('\n');
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
