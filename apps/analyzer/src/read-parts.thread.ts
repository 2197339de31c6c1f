// Runs on the threads of the analyzer: parts of files in, their bytes out. Blocking calls take a third of the processor
// time of the others, and a mount that hangs holds up a thread, not the process.
import { hash } from 'node:crypto';
import {
  faultCode,
  folderStands,
  hashOf,
  isSameStat,
  OpenFile,
  skipReasonOfFault,
  type SkipReason,
} from '#files';
import type { BatchItem } from './batch-items.repository.js';

/** Why the bytes of a part are not what was counted: a reason to skip its file, or to look at it again. */
export type StaleReason = SkipReason | 'away';

/** What became of a part: null when it was read, else why not, or the error that says nothing about the file. */
export type PartOutcome = null | { stale: StaleReason } | { error: string; message: string };

export interface PartsRead {
  /** The bytes of all parts, one after another; what was not read leaves its place unused. */
  bytes: Uint8Array;
  outcomes: PartOutcome[];
}

/** Reads parts as they are now. */
export default function readParts(items: readonly BatchItem[]): PartsRead {
  const bytes = new Uint8Array(items.reduce((sum, { file }) => sum + file.end - file.start, 0));
  let at = 0;
  const outcomes = items.map((item) => {
    const place = bytes.subarray(at, (at += item.file.end - item.file.start));
    return readPart(item, place);
  });
  return { bytes, outcomes };
}

function readPart(item: BatchItem, into: Uint8Array): PartOutcome {
  try {
    return OpenFile.use(item.place, (file) => isAsCounted(file, item, into)) ? null : { stale: 'changed' };
  } catch (error) {
    const reason = skipReasonOfFault(error);
    if (reason === 'vanished' && !folderStands(item.place)) return { stale: 'away' };
    if (reason) return { stale: reason };
    return { error: faultCode(error), message: String(error) };
  }
}

function isAsCounted(file: OpenFile, { file: part, whole }: BatchItem, into: Uint8Array): boolean {
  const { start, end } = part;
  if (file.size < end || (part.part === part.parts && file.size !== end)) return false;
  return isWhole(file, whole) && file.fill(into, start) && hash('sha256', into) === part.hash;
}

/** Parts of a file that is another now would be torn: a stat that differs asks for a look at all of it. */
function isWhole(file: OpenFile, whole: BatchItem['whole']): boolean {
  if (whole === undefined) return true;
  if (whole === 'superseded') return false;
  return isSameStat(file.stat, whole.stat) || (whole.hash !== null && hashOf(file, 'sha256') === whole.hash);
}
