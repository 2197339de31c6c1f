// Hashes files on a thread, many at a time: a trip to a thread costs as much as hashing a small file. Question and answer
// are JSON text, which passes faster than as many objects.
import type { ThreadContext } from '#worker-pool';
import type { FilePlace, ReadOptions } from '#files';
import { CHUNK_BYTES, hashFile, seenText, type HashAlgorithm, type HashOutcome } from './hash-file.js';

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
