import type { EntityManager } from '#database';
import { isSameStat } from '#files';
import { changeOf } from '../registration/change.js';
import type { ChangedFile, FileRows, HashableFile } from '../registration/files.repository.js';
import type { QueueableFile, ScanMark } from '../registration/registration.js';
import type { HashResult } from './file-hashing.js';
import type { HashAlgorithm, HashOutcome } from './hash-file.js';

type Hashed = { file: HashableFile; outcome: HashOutcome & { state: 'hashed' } };

/**
 * Writes the outcomes of hashing, in the caller's transaction. A hash is stored with the stat of the bytes it is of:
 * where that is no longer what the scan saw, the file begins a new revision and wants a new job.
 */
export async function recordHashes(
  tx: EntityManager,
  rows: FileRows,
  results: readonly HashResult[],
  { mark, algorithm }: { mark: ScanMark; algorithm: HashAlgorithm },
): Promise<QueueableFile[]> {
  const hashed = results.filter(isHashed);
  const changed = hashed.filter(({ file, outcome }) => !isSameStat(outcome.stat, file));
  const queueable = await renew(tx, rows, mark, changed);
  const revisions = new Map(queueable.map(({ id, revision }) => [id, revision]));
  const hashes = hashed.map(({ file: { id, revision }, outcome: { hash: value } }) => ({
    ...{ id, revision: revisions.get(id) ?? revision, value },
  }));
  await rows.storeHashes(tx, hashes, algorithm, mark.now);
  await rows.storeErrors(tx, results.flatMap(errorOf), mark.now);
  const gone = results.filter(({ outcome }) => outcome.state === 'gone').map(({ file }) => file);
  await rows.markUnseen(tx, gone);
  return queueable;
}

/** The files that changed since they were registered, as new revisions. */
async function renew(
  tx: EntityManager,
  rows: FileRows,
  mark: ScanMark,
  changed: readonly Hashed[],
): Promise<QueueableFile[]> {
  const ids = changed.map(({ file }) => file.id);
  const found = await rows.findByIds(tx, ids);
  // A batcher may be about to commit what it read of the same file: as its row is then, it may be no change.
  const held = await rows.hold(tx, ids);
  const renewed = changed.flatMap(({ file, outcome }): ChangedFile[] => {
    const known = held.get(file.id) ?? found.get(file.id);
    if (!known || known.revision !== file.revision) return [];
    const { path, pathBytes } = file;
    const skip = known.skipReason === 'too-large' ? known.skipReason : null;
    const entry = { name: known.name, path, pathBytes, ...outcome.stat, skip, error: null } as const;
    const change = changeOf(known, entry);
    return change.kind === 'changed' ? [{ known, entry, status: change.status }] : [];
  });
  return rows.update(tx, mark, renewed);
}

function isHashed(result: HashResult): result is Hashed {
  return result.outcome.state === 'hashed';
}

function errorOf({ file: { id, revision }, outcome }: HashResult) {
  if (outcome.state === 'failed') return [{ id, revision, value: outcome.error }];
  return outcome.state === 'changing' ? [{ id, revision, value: 'CHANGING' }] : [];
}
