import { FILE_JOB, isList } from '#contracts';
import { bulkExecute, type EntityManager } from '#database';
import { jobIdOf } from '#outbox';
import type { LetterDraft } from './letter-draft.js';

export interface OriginQueues {
  files: string;
  batches: string;
}

type FailedJob = Pick<LetterDraft, 'queue' | 'jobId' | 'data' | 'errorName'>;

const FAILED = "status = 'failed', error_status = v.error, worker_id = NULL, claimed_until = NULL";
const WAITING = "files.status IN ('pending', 'processing', 'batched')";

/**
 * Marks the files of failed jobs as failed, in the transaction that stores their letters: a file is failed exactly if a
 * letter says why. A file that has moved on (another revision, analyzed, skipped) is left alone. Returns how many were marked.
 */
export async function markFilesFailed(
  tx: EntityManager,
  letters: readonly FailedJob[],
  queues: OriginQueues,
): Promise<number> {
  const files = letters.filter(({ queue }) => queue === queues.files).flatMap(fileOf);
  const alone = await bulkExecute(
    tx,
    { columns: { id: 'int', revision: 'int', error: 'text' }, alias: 'v', rows: files },
    (source) => `UPDATE files SET ${FAILED} FROM ${source}
      WHERE files.id = v.id AND files.revision = v.revision AND ${WAITING}`,
  );
  const batches = letters.filter(({ queue }) => queue === queues.batches).flatMap(batchesOf);
  const inBatches = await bulkExecute(
    tx,
    { columns: { id: 'text', error: 'text' }, alias: 'v', rows: batches },
    // Materialized, or SQLite may read all files to find these.
    (source) => `WITH items AS MATERIALIZED (
        SELECT i.file_id, i.revision, v.error FROM ${source} CROSS JOIN batch_items i WHERE i.batch_id = v.id)
      UPDATE files SET ${FAILED} FROM items v
      WHERE files.id = v.file_id AND files.revision = v.revision AND ${WAITING}`,
  );
  return alone + inBatches;
}

function fileOf({ data, errorName }: FailedJob): [number, number, string][] {
  if (FILE_JOB.faultsOf(data).length > 0) return [];
  const job = FILE_JOB.parse(data);
  // What fails is a file, with its own job and letter. The files of a list go on: recovery finds their job missing.
  return isList(job) ? [] : [[job.fileId, job.revision, errorName]];
}

/** The batch as the payload names it, or its first event's id; what the payload says of files may be cut or edited. */
function batchesOf({ jobId, data, errorName }: FailedJob): [string, string][] {
  const named = typeof data === 'object' && data !== null && 'id' in data ? data.id : undefined;
  const first = jobId.startsWith(jobIdOf('')) ? jobId.slice(jobIdOf('').length) : undefined;
  return [...new Set([named, first])].flatMap((id) => (typeof id === 'string' ? [[id, errorName]] : []));
}
