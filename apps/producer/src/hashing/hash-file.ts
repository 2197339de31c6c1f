import {
  faultCode,
  folderStands,
  hashOf,
  isRecordable,
  meaningOf,
  OpenFile,
  type FilePlace,
  type FileStat,
  type ReadOptions,
} from '#files';

export type HashAlgorithm = 'sha256' | 'sha512' | 'sha3-256';

export type HashOutcome =
  /** The stat is that of the bytes that were hashed. */
  | { state: 'hashed'; hash: string; stat: FileStat }
  | { state: 'gone' }
  /** It did not hold still for three readings. */
  | { state: 'changing' }
  | { state: 'failed'; error: string; message: string };

export const CHUNK_BYTES = 64 * 1024;
const READINGS = 3;

/** Hashes a file of any size, a buffer at a time. A file that changes while it is read is read again. Synchronous, for threads. */
export function hashFile(place: FilePlace, algorithm: HashAlgorithm, options: ReadOptions): HashOutcome {
  try {
    for (let reading = 0; reading < READINGS; reading++) {
      const outcome = OpenFile.use(place, (file) => hashSteady(file, algorithm), options);
      if (outcome) return outcome;
    }
    return { state: 'changing' };
  } catch (error) {
    return failureOf(error, place);
  }
}

function hashSteady(file: OpenFile, algorithm: HashAlgorithm): HashOutcome | undefined {
  const hash = hashOf(file, algorithm);
  return file.isUnchanged() ? { state: 'hashed', hash, stat: file.stat } : undefined;
}

/** A stat as one text, to be compared. */
export function seenText({ size, mtimeNs, ctimeNs, inode }: FileStat): string {
  return `${size},${mtimeNs},${ctimeNs},${inode}`;
}

function failureOf(error: unknown, place: FilePlace): HashOutcome {
  if (!isRecordable(error)) throw error;
  if (meaningOf(error) === 'gone' && folderStands(place)) return { state: 'gone' };
  return { state: 'failed', error: faultCode(error), message: error.message };
}
