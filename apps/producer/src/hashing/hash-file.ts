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

export interface HashTask {
  kind: 'hash';
  /** JSON of the questions. */
  files: string;
  algorithm: HashAlgorithm;
  tree: Tree;
}

/** What is the same for all files of a scan. */
export type Tree = Pick<FilePlace, 'root' | 'followLinks'>;

/** The path as text, its bytes where they differ, and the stat it had. */
export type HashQuestion = [path: string, bytes: string | null, seen: string];

/** The hash alone when the file is as it was seen. */
export type HashAnswer = string | HashOutcome;

const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);

export function hash({ files, algorithm, tree }: HashTask, context: ThreadContext): string {
  const checkpoint = (): void => context.throwIfAborted();
  const questions = JSON.parse(files) as HashQuestion[];
  const options: ReadOptions = { checkpoint, buffer };
  return JSON.stringify(
    questions.map(([text, bytes, seen]) =>
      answer({ ...tree, path: { text, bytes } }, seen, algorithm, options),
    ),
  );
}

function answer(place: FilePlace, seen: string, algorithm: HashAlgorithm, options: ReadOptions): HashAnswer {
  const outcome = hashFile(place, algorithm, options);
  return outcome.state === 'hashed' && seenText(outcome.stat) === seen ? outcome.hash : outcome;
}
