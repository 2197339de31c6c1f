import { DlqProblemError, DlqUnreachableError } from '#dlq-client';
import type { BulkAction, BulkKind, BulkPreview, BulkRequest, DlqClient } from '#dlq-client';
import { sleep } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { print, stopSignal } from '../command.js';
import { confirm } from '../output/confirm.js';
import { Screen } from '../output/screen.js';
import { count, plain, several, shortId, tableOf, time } from '../output/table.js';
import type { Columns, OutputFormat } from '../output/table.js';

export interface BulkOptions {
  output: OutputFormat;
  dryRun?: boolean;
  yes?: boolean;
}

export const POLL_MS = 300;
const RETRY_FOR_MS = 30_000;

const DONE: Record<BulkKind, string> = {
  requeue: 'requeued',
  discard: 'discarded',
  restore: 'restored',
};

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

/**
 * Changes many letters: shows what would happen, asks unless the letters were named one by one, follows the action to its
 * end and tells the outcome. Returns the exit code. Ctrl-C aborts the action; what it has done stays done.
 */
export async function changeMany(
  client: DlqClient,
  request: BulkRequest,
  options: BulkOptions,
): Promise<number> {
  const { kind, filter } = request;
  const preview = await client.preview(request);
  const nothing = preview.total === 0;
  if (options.dryRun) {
    print(options, preview, () => previewReport(kind, preview));
    return nothing ? CLI_EXIT.nothing : CLI_EXIT.ok;
  }
  if (nothing) {
    process.stderr.write('No dead letters match; nothing was changed.\n');
    return CLI_EXIT.nothing;
  }
  if (filter) process.stderr.write(previewReport(kind, preview));
  const question = `${kind} ${count(preview.eligible)} letters?`;
  if (filter && !(await confirm(question, options.yes))) return CLI_EXIT.interrupted;
  const stop = stopSignal();
  const started = await client.startBulk({ ...request, ...(filter && { confirm: preview.confirm }) });
  const ended = await follow(client, started, stop);
  print(options, ended, () => `${outcomeLine(ended)}\n`);
  return exitCodeOf(ended, stop);
}

export const isRunning = ({ status }: BulkAction): boolean => status === 'frozen' || status === 'running';

/** Draws the progress until the action has ended, whoever ended it. */
async function follow(client: DlqClient, started: BulkAction, stop: AbortSignal): Promise<BulkAction> {
  const screen = new Screen(process.stderr);
  let action = started;
  let aborted = false;
  while (isRunning(action)) {
    screen.draw([actionLine(action)], actionLine(action));
    await sleep(POLL_MS, aborted ? undefined : stop);
    if (stop.aborted && !aborted) {
      aborted = true;
      await withRetries(action.id, () => client.abort(action.id)).catch(unlessEnded);
    }
    action = await withRetries(action.id, () => client.bulkAction(action.id));
  }
  screen.clear();
  return action;
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof DlqProblemError && error.code === 'ENDED')) throw error;
}

/** The action goes on in dlq-admin's database, also while that restarts; so a call without an answer is tried again. */
function withRetries<T>(id: string, call: () => Promise<T>): Promise<T> {
  return retried(call, AbortSignal.timeout(RETRY_FOR_MS)).catch((error: unknown) => {
    if (!isPassing(error)) throw error;
    throw new CliError(
      `dlq-admin no longer answers; the action goes on there: look again with \`millrace dlq actions ${id}\``,
      CLI_EXIT.unavailable,
      error,
    );
  });
}

/** Calls again while what it fails of may pass, as that dlq-admin does not answer, until told to stop. */
export async function retried<T>(call: () => Promise<T>, stop: AbortSignal, passes = isPassing): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (stop.aborted || !passes(error)) throw error;
      await sleep(POLL_MS, stop);
    }
}

function isPassing(error: unknown): boolean {
  if (error instanceof DlqUnreachableError) return true;
  return error instanceof DlqProblemError && (error.problem.status >= 500 || error.problem.status === 429);
}

function exitCodeOf({ status, skipped, failedAgain }: BulkAction, stop: AbortSignal): number {
  if (status === 'completed') return skipped + failedAgain > 0 ? CLI_EXIT.someFailed : CLI_EXIT.ok;
  return status === 'aborted' && stop.aborted ? CLI_EXIT.interrupted : CLI_EXIT.someFailed;
}

/** What would happen: how many, why the others would not, and the causes by size. */
function previewReport(kind: BulkKind, preview: BulkPreview): string {
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

function actionLine({ kind, total, done, skipped, failedAgain, canary }: BulkAction): string {
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
