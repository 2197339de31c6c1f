import type { EntityManager } from '#database';
import { isSameStat } from '#files';
import { changeOf, type KnownFile } from '../registration/change.js';
import type { FileRows, ScanMark } from '../registration/files.repository.js';
import type { QueueableFile } from '../registration/registration.js';
import type { HashResult } from './file-hashing.js';
import type { HashAlgorithm, HashOutcome } from './hash-file.js';
import type { HashableFile, HashRows } from './hash.repository.js';

type Hashed = { file: HashableFile; outcome: HashOutcome & { state: 'hashed' } };

/**
 * Writes the outcomes of hashing, in the caller's transaction. A hash is stored with the stat of the bytes it is of:
 * where that is no longer what the scan saw, the file begins a new revision and wants a new job.
 */
export async function recordHashes(
  tx: EntityManager,
  rows: { files: FileRows; hashes: HashRows },
  results: readonly HashResult[],
  { mark, algorithm }: { mark: ScanMark; algorithm: HashAlgorithm },
): Promise<QueueableFile[]> {
  const hashed = results.filter(isHashed);
  const [same, changed] = partition(hashed, isAsSeen);
  const queueable = await renew(tx, rows.files, mark, changed);
  const revisions = new Map(queueable.map(({ id, revision }) => [id, revision]));
  await rows.hashes.store(
    tx,
    [...same, ...changed].map(({ file, outcome }) => ({
      id: file.id,
      revision: revisions.get(file.id) ?? file.revision,
      hash: outcome.hash,
    })),
    algorithm,
    mark.now,
  );
  await rows.hashes.storeErrors(tx, results.flatMap(errorOf), mark.now);
  await rows.hashes.markUnseen(
    tx,
    results.filter(({ outcome }) => outcome.state === 'gone').map(({ file }) => file),
  );
  return queueable;
}

/** The files that changed since they were registered, as new revisions. */
async function renew(
  tx: EntityManager,
  files: FileRows,
  mark: ScanMark,
  changed: readonly Hashed[],
): Promise<QueueableFile[]> {
  const ids = changed.map(({ file }) => file.id);
  const found = await files.findByIds(tx, ids);
  // A batcher may be about to commit what it read of the same file: as its row is then, it may be no change.
  const held = await files.hold(tx, ids);
  return files.update(
    tx,
    mark,
    changed.flatMap(({ file, outcome }) => {
      const known: KnownFile | undefined = held.get(file.id) ?? found.get(file.id);
      if (!known || known.revision !== file.revision) return [];
      const { path, pathBytes } = file;
      const skip = known.skipReason === 'too-large' ? known.skipReason : null;
      const entry = { name: known.name, path, pathBytes, ...outcome.stat, skip, error: null } as const;
      const change = changeOf(known, entry);
      return change.kind === 'changed' ? [{ known, entry, status: change.status }] : [];
    }),
  );
}

function isHashed(result: HashResult): result is Hashed {
  return result.outcome.state === 'hashed';
}

function isAsSeen({ file, outcome }: Hashed): boolean {
  return isSameStat(outcome.stat, file.stat);
}

function errorOf({ file, outcome }: HashResult) {
  const { id, revision } = file;
  if (outcome.state === 'failed') return [{ id, revision, error: outcome.error }];
  return outcome.state === 'changing' ? [{ id, revision, error: 'CHANGING' }] : [];
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
