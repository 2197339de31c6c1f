import { BATCH_EVENT, FILE_JOB } from '#contracts';
import { bulkQuery, type EntityManager } from '#database';

export interface OriginQueues {
  files: string;
  batches: string;
}

interface FailedFile {
  fileId: number;
  revision: number;
  error: string;
}

/**
 * Marks the files that failed jobs name as failed, in the transaction that stores their letters: a file is failed exactly
 * if a letter says why. A file that has moved on (another revision, analyzed, skipped) is left alone.
 */
export async function markFilesFailed(
  tx: EntityManager,
  letters: readonly { queue: string; data: unknown; errorName: string }[],
  queues: OriginQueues,
): Promise<number> {
  const files = letters.flatMap((letter) => filesOf(letter, queues));
  const rows = files.map(({ fileId, revision, error }) => [fileId, revision, error]);
  const marked = await bulkQuery<{ id: number }>(
    tx,
    { columns: { id: 'int', revision: 'int', error: 'text' }, alias: 'v', rows },
    (
      source,
    ) => `UPDATE files SET status = 'failed', error_status = v.error, worker_id = NULL, claimed_until = NULL
      FROM ${source}
      WHERE files.id = v.id AND files.revision = v.revision AND files.status IN ('pending', 'processing', 'batched')
      RETURNING files.id`,
  );
  return marked.length;
}

export function filesOf(
  { queue, data, errorName }: { queue: string; data: unknown; errorName: string },
  queues: OriginQueues,
): FailedFile[] {
  if (queue === queues.files && FILE_JOB.faultsOf(data).length === 0) {
    const { fileId, revision } = FILE_JOB.parse(data);
    return [{ fileId, revision, error: errorName }];
  }
  if (queue === queues.batches && BATCH_EVENT.faultsOf(data).length === 0)
    return BATCH_EVENT.parse(data).files.map(({ fileId, revision }) => ({
      fileId,
      revision,
      error: errorName,
    }));
  return [];
}
