import {
  DlqProblemError,
  DlqUnreachableError,
  type BulkAction,
  type BulkRequest,
  type DlqClient,
} from '#dlq-client';
import { sleep } from '#service';
import { CLI_EXIT, CliError } from '../cli.errors.js';
import { print, stopSignal } from '../command.js';
import { confirm } from '../output/confirm.js';
import { Screen } from '../output/screen.js';
import { count, type OutputFormat } from '../output/table.js';
import { actionLine, outcomeLine, previewReport } from './bulk-report.js';

export interface BulkOptions {
  output: OutputFormat;
  dryRun?: boolean;
  yes?: boolean;
}

export const POLL_MS = 300;
const RETRY_FOR_MS = 30_000;

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

/** Draws the progress until the action has ended, whoever ended it. */
async function follow(client: DlqClient, started: BulkAction, stop: AbortSignal): Promise<BulkAction> {
  const screen = new Screen(process.stderr);
  let action = started;
  let aborted = false;
  while (action.status === 'frozen' || action.status === 'running') {
    screen.draw([actionLine(action)], actionLine(action));
    await sleep(POLL_MS, aborted ? undefined : stop);
    if (stop.aborted && !aborted) {
      aborted = true;
      await abort(client, action.id);
    }
    action = await withRetries(action.id, () => client.bulkAction(action.id));
  }
  screen.clear();
  return action;
}

async function abort(client: DlqClient, id: string): Promise<void> {
  try {
    await withRetries(id, () => client.abort(id));
  } catch (error) {
    if (!(error instanceof DlqProblemError && error.code === 'ENDED')) throw error;
  }
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

/** Calls again while dlq-admin may yet be able to answer, until told to stop. */
export async function retried<T>(call: () => Promise<T>, stop: AbortSignal): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (stop.aborted || !isPassing(error)) throw error;
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
