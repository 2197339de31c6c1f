// Hashes files on a thread, many at a time: a trip to a thread costs as much as hashing a small file. Question and answer
// are JSON text, which passes faster than as many objects.
import type { ThreadContext } from '#worker-pool';
import {
  faultCode,
  folderStands,
  hashOf,
  isRecordable,
  meaningOf,
  OpenFile,
  type FilePlace,
  type FileStat,
  type PathText,
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

function failureOf(error: unknown, place: FilePlace): HashOutcome {
  if (!isRecordable(error)) throw error;
  if (meaningOf(error) === 'gone' && folderStands(place)) return { state: 'gone' };
  return { state: 'failed', error: faultCode(error), message: error.message };
}

export interface HashTask {
  kind: 'hash';
  /** JSON of the paths, each as text and its bytes where they differ. */
  paths: string;
  algorithm: HashAlgorithm;
  tree: Pick<FilePlace, 'root' | 'followLinks'>;
}

const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** JSON of the outcomes. */
export function hash({ paths, algorithm, tree }: HashTask, context: ThreadContext): string {
  const options: ReadOptions = { checkpoint: () => context.throwIfAborted(), buffer };
  const files = JSON.parse(paths) as PathText[];
  return JSON.stringify(files.map((path) => hashFile({ ...tree, path }, algorithm, options)));
}
