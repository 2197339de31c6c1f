import type { EntityManager, ScanMode } from '#database';
import { seenAgain } from '#tree';
import { changeOf, isBehind, type KnownFile } from './change.js';
import {
  fileKey,
  type ChangedFile,
  type CorrectedFile,
  type FileRows,
  type NewFile,
} from './files.repository.js';
import type { EndedFolder, FolderRows, SeenFolder } from './folders.repository.js';
import {
  hasRows,
  type QueueableFile,
  type Registration,
  type ScanMark,
  type WithRows,
} from './registration.js';
import { plus, type ScanCounters } from './scan-counters.js';

interface Sorted {
  created: NewFile[];
  changed: ChangedFile[];
  corrected: CorrectedFile[];
  unchanged: number[];
}

interface BatchContext {
  mark: ScanMark;
  counters: ScanCounters;
  /** A scan of folders only says nothing about files, a scan of files nothing about folders. */
  mode: ScanMode;
}

/**
 * Writes what some folders hold. All or nothing, in the caller's transaction; writing the same again changes nothing
 * more. A folder counts as listed only together with the last of its rows.
 */
export async function registerBatch(
  tx: EntityManager,
  rows: { files: FileRows; folders: FolderRows },
  batch: readonly Registration[],
  context: BatchContext,
): Promise<{ queueable: QueueableFile[]; counters: ScanCounters }> {
  const { mark } = context;
  const sorted = await sortFiles(tx, rows.files, batch.filter(hasRows));
  const created = await rows.files.insert(tx, mark, sorted.created);
  const changed = await rows.files.update(tx, mark, sorted.changed);
  await rows.files.correct(tx, mark, sorted.corrected);
  await rows.files.touch(tx, mark, sorted.unchanged);
  await writeFolders(tx, rows.folders, batch, context);
  return { queueable: [...created, ...changed], counters: counted(batch, sorted, context.counters) };
}

async function sortFiles(tx: EntityManager, rows: FileRows, batch: readonly WithRows[]): Promise<Sorted> {
  const known = await findKnown(tx, rows, batch);
  const sorted: Sorted = { created: [], changed: [], corrected: [], unchanged: [] };
  for (const { folder, files } of batch)
    for (const entry of files) sortFile(sorted, folder.id, known.get(fileKey(folder.id, entry.name)), entry);
  await confirmChanges(tx, rows, sorted);
  return sorted;
}

/**
 * A batcher may have read a file as it is now, and recorded that, after the scan listed it as it was before. To take that
 * for a change would send the same content twice. So rows that seem changed are held still, and what looks older than its
 * row is looked at again.
 */
async function confirmChanges(tx: EntityManager, rows: FileRows, sorted: Sorted): Promise<void> {
  const seeming = sorted.changed.splice(0);
  const ids = seeming.map(({ known }) => known.id);
  const held = await rows.hold(tx, ids);
  for (const { known, entry } of seeming) {
    const row = held.get(known.id) ?? known;
    sortFile(sorted, row.folderId, row, isBehind(row, entry) ? await seenAgain(entry) : entry);
  }
}

function sortFile(
  sorted: Sorted,
  folderId: number,
  known: KnownFile | undefined,
  entry: WithRows['files'][number],
): void {
  const change = changeOf(known, entry);
  if (change.kind === 'new') sorted.created.push({ folderId, entry, status: change.status });
  else if (!known) return;
  else if (change.kind === 'changed') sorted.changed.push({ known, entry, status: change.status });
  else if (change.kind === 'corrected') sorted.corrected.push({ known, ...change });
  else sorted.unchanged.push(known.id);
}

/** A folder that was never listed has no rows of files, so a first scan looks nothing up. */
async function findKnown(
  tx: EntityManager,
  rows: FileRows,
  batch: readonly WithRows[],
): Promise<Map<string, KnownFile>> {
  const names = batch
    .filter(({ folder }) => folder.listedScanId !== 0)
    .flatMap(({ folder, files }) => files.map(({ name }): [number, string] => [folder.id, name]));
  return rows.find(tx, names);
}

async function writeFolders(
  tx: EntityManager,
  rows: FolderRows,
  batch: readonly Registration[],
  { mark, mode }: BatchContext,
): Promise<void> {
  if (mode !== 'files') await rows.see(tx, mark, subfoldersOf(batch.filter(hasRows)));
  await rows.seeChildrenOf(tx, mark, idsOf(batch, 'unchanged'));
  await rows.markPartlyListed(tx, idsOf(batch, 'part'));
  const ended = batch.flatMap((item) => endOf(item, mode));
  await rows.end(tx, mark, ended, mode === 'folders');
  const relisted = batch.filter(({ state, folder }) => state === 'listed' && folder.listedScanId !== 0);
  const ids = relisted.map(({ folder }) => folder.id);
  if (mode !== 'folders') await rows.forgetDigestWhereMissing(tx, mark, ids);
}

/** By key: a folder that changed while it was read may have given a name twice. */
function subfoldersOf(batch: readonly WithRows[]): SeenFolder[] {
  const seen = new Map<string, SeenFolder>();
  for (const { folder, subfolders } of batch)
    for (const entry of subfolders)
      seen.set(entry.key, { parentId: folder.id, depth: folder.depth + 1, entry });
  return [...seen.values()];
}

function idsOf(batch: readonly Registration[], state: Registration['state']): number[] {
  return [...new Set(batch.filter((item) => item.state === state).map(({ folder }) => folder.id))];
}

/** A listing whose subfolders were not registered is not to be taken for a known one by the next scan. */
function endOf(item: Registration, mode: ScanMode): EndedFolder[] {
  const { id } = item.folder;
  if (item.state === 'part') return [];
  if (item.state === 'failed') return [{ id, identity: null, digest: null, error: item.error }];
  const digest = item.state === 'listed' && mode === 'files' ? null : item.digest;
  return [{ id, identity: item.identity, digest, error: null }];
}

function counted(batch: readonly Registration[], sorted: Sorted, before: ScanCounters): ScanCounters {
  let counters = plus(before, {
    created: sorted.created.length,
    changed: sorted.changed.length,
    unchanged: sorted.unchanged.length + sorted.corrected.length,
  });
  for (const item of batch) counters = plus(counters, countsOf(item));
  return counters;
}

function countsOf(item: Registration) {
  if (item.state === 'failed') return { folders: 1, errors: 1 };
  const { state, counts } = item;
  return {
    folders: state === 'part' ? 0 : 1,
    unchanged: state === 'unchanged' ? counts.files : 0,
    listing: counts,
  };
}
