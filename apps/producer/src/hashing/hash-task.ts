// Hashes files on a thread, many at a time: a trip to a thread costs as much as hashing a small file. Question and answer
// are JSON text, which passes faster than as many objects.
import type { ThreadContext } from '#worker-pool';
import { fsPath } from '../listing/path-text.js';
import {
  CHUNK_BYTES,
  hashFile,
  seenText,
  type HashAlgorithm,
  type HashOptions,
  type HashOutcome,
} from './hash-file.js';

export interface HashTask {
  kind: 'hash';
  /** JSON of the questions. */
  files: string;
  algorithm: HashAlgorithm;
}

/** The path as text, its bytes where they differ, and the stat it had. */
export type HashQuestion = [path: string, bytes: string | null, seen: string];

/** The hash alone when the file is as it was seen. */
export type HashAnswer = string | HashOutcome;

const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);

export function hash({ files, algorithm }: HashTask, context: ThreadContext): string {
  const checkpoint = (): void => context.throwIfAborted();
  const questions = JSON.parse(files) as HashQuestion[];
  return JSON.stringify(questions.map((question) => answer(question, algorithm, { checkpoint, buffer })));
}

function answer(
  [text, bytes, seen]: HashQuestion,
  algorithm: HashAlgorithm,
  options: HashOptions,
): HashAnswer {
  const outcome = hashFile(fsPath({ text, bytes }), algorithm, options);
  return outcome.state === 'hashed' && seenText(outcome.stat) === seen ? outcome.hash : outcome;
}
