// Hashes files on a thread, some at a time: a trip to a thread costs as much as hashing a small file.
import type { ThreadContext } from '#worker-pool';
import { CHUNK_BYTES, hashFile, type HashAlgorithm, type HashOutcome } from './hash-file.js';

export interface HashTask {
  /** Base64 of the path's bytes. */
  paths: readonly string[];
  algorithm: HashAlgorithm;
}

const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);

export default function hash({ paths, algorithm }: HashTask, context: ThreadContext): HashOutcome[] {
  const checkpoint = (): void => context.throwIfAborted();
  return paths.map((path) => hashFile(Buffer.from(path, 'base64'), algorithm, { checkpoint, buffer }));
}
