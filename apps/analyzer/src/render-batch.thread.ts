// Runs on the threads of the analyzer: a batch as its rows tell it in, its text out, in a file or as bytes. Blocking calls
// take a third of the processor time of the others, and a mount that hangs holds up a thread, not the process.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { BatchFile } from '#contracts';
import { renderBatch, shownPath, type EnvelopeName, type LoadedFile } from '#envelope';
import {
  faultCode,
  folderStands,
  hashOf,
  isSameStat,
  OpenFile,
  OpenFolder,
  skipReasonOfFault,
  type FilePlace,
  type SkipReason,
} from '#files';
import type { ThreadContext } from '#worker-pool';
import type { ItemRow, OpenBatch } from './open-batches.repository.js';

export interface RenderTask {
  batch: OpenBatch;
  format: EnvelopeName;
  /** Folder that paths are shown relative to. */
  base?: string | undefined;
  /** What cannot be read is then set aside, so that it takes no other file with it. */
  lastAttempt: boolean;
  /** Written, not synced; the text is handed back when not given. */
  file?: { path: string; mode: number };
}

/** Why the bytes of a part are not what was counted: a reason to skip its file, or to look at it again. */
export type StaleReason = SkipReason | 'away';

/** A part that is no longer what was counted. It is reported, never sent. */
export interface StaleFile extends Pick<BatchFile, 'fileId' | 'revision' | 'part' | 'parts' | 'path'> {
  reason: StaleReason;
}

export type Rendered =
  /** Of the batch, `files` parts are in the text; none: there is no text. */
  | { outcome: 'rendered'; files: number; stale: StaleFile[]; sha256: string; text?: Uint8Array }
  /** The folders of all files are away. */
  | { outcome: 'away'; path: string }
  /** An error that says nothing about the file. */
  | { outcome: 'unread'; path: string; error: string; message: string };

/** Memory that one batch after the other uses: to get it anew from the system costs as much as to fill it. */
class Space {
  private bytes = Buffer.alloc(0);

  ofSize(size: number): Buffer {
    if (this.bytes.length < size) this.bytes = Buffer.allocUnsafeSlow(size);
    return this.bytes.subarray(0, size);
  }
}

const contents = new Space();
const texts = new Space();

/** What became of a part: null when it was read. */
type PartOutcome = null | { stale: StaleReason } | { error: string; message: string };

/** Reads the bytes of a batch's items as they are now and sets aside what differs from what was counted. */
export default function render(task: RenderTask, context?: ThreadContext): Rendered {
  const folder = new OpenFolder();
  try {
    return renderFrom(folder, task, context);
  } finally {
    folder.close();
  }
}

function renderFrom(folder: OpenFolder, task: RenderTask, context?: ThreadContext): Rendered {
  const { batch, base, lastAttempt } = task;
  // In one order each time, so that a batch is written the same each time.
  const rows = (JSON.parse(batch.items) as ItemRow[]).sort((a, b) => a.fileId - b.fileId || a.part - b.part);
  const bytes = contents.ofSize(rows.reduce((sum, { start, end }) => sum + end - start, 0));
  const files: LoadedFile[] = [];
  const stale: StaleFile[] = [];
  let at = 0;
  for (const row of rows) {
    context?.throwIfAborted();
    const place = bytes.subarray(at, (at += row.end - row.start));
    const outcome = readPart(row, batch, place, folder);
    if (outcome && 'error' in outcome && !lastAttempt)
      return { outcome: 'unread', path: row.path, ...outcome };
    if (outcome) stale.push({ ...idOf(row), reason: 'stale' in outcome ? outcome.stale : 'unreadable' });
    else files.push({ file: row, bytes: place, path: shownPath(row.path, base) });
  }
  if (stale.length === rows.length && stale.every(({ reason }) => reason === 'away'))
    return { outcome: 'away', path: stale[0]?.path ?? '' };
  return { outcome: 'rendered', files: files.length, stale, ...written(task, files) };
}

function idOf({ fileId, revision, part, parts, path }: ItemRow): Omit<StaleFile, 'reason'> {
  return { fileId, revision, part, parts, path };
}

function written(
  { batch, format, file }: RenderTask,
  files: readonly LoadedFile[],
): { sha256: string; text?: Uint8Array } {
  if (files.length === 0) return { sha256: '' };
  const text = joined(renderBatch(format, batch.id, batch.totalTokens, files));
  const sha256 = hash('sha256', text);
  if (!file) return { sha256, text: new Uint8Array(text) };
  writeFileSync(file.path, text, { flag: 'wx', mode: file.mode });
  return { sha256 };
}

function joined(pieces: readonly Buffer[]): Buffer {
  const text = texts.ofSize(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(text, at);
  return text;
}

function readPart(row: ItemRow, { trees }: OpenBatch, into: Uint8Array, folder: OpenFolder): PartOutcome {
  if (row.superseded) return { stale: 'changed' };
  const tree = trees.get(row.rootId);
  if (!tree) throw new Error(`file ${row.path} belongs to root ${row.rootId}, which is not there`);
  const { path: text, pathBytes: bytes, folderIdentity } = row;
  const place: FilePlace = { ...tree, path: { text, bytes }, folderIdentity };
  try {
    const asCounted = OpenFile.use(place, (file) => isAsCounted(file, row, into), { folder });
    return asCounted ? null : { stale: 'changed' };
  } catch (error) {
    const reason = skipReasonOfFault(error);
    if (reason === 'vanished' && !folderStands(place)) return { stale: 'away' };
    if (reason) return { stale: reason };
    return { error: faultCode(error), message: String(error) };
  }
}

function isAsCounted(file: OpenFile, row: ItemRow, into: Uint8Array): boolean {
  const { start, end, part, parts } = row;
  if (file.size < end || (part === parts && file.size !== end)) return false;
  if (parts > 1 && !isUntorn(file, row)) return false;
  return file.fill(into, start) && hash('sha256', into) === row.hash;
}

/**
 * Parts of a file that is another now would be torn: a stat that differs, or a later revision that has not been batched
 * yet, asks for a look at all of it.
 */
function isUntorn(file: OpenFile, row: ItemRow): boolean {
  const { size, mtimeNs, ctimeNs, inode, wholeHash } = row;
  const counted = { size: size ?? -1, mtimeNs: mtimeNs ?? '', ctimeNs: ctimeNs ?? '', inode: inode ?? '' };
  if (row.current === row.revision && isSameStat(file.stat, counted)) return true;
  return wholeHash !== null && hashOf(file, 'sha256') === wholeHash;
}
