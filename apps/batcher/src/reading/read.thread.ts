// Runs on the threads of the batcher: paths in, counts out; contents never leave the thread.
import type { FilePlace } from '#files';
import type { ThreadContext } from '#worker-pool';
import { FileCounter } from './file-counter.js';
import type { ReadOutcome, ReadSettings } from './read-outcome.js';

let counter: FileCounter | undefined;
let current: ThreadContext<ReadSettings> | undefined;

export default function read(
  files: readonly FilePlace[],
  context: ThreadContext<ReadSettings>,
): ReadOutcome[] {
  current = context;
  counter ??= new FileCounter(context.data, () => current?.throwIfAborted());
  return files.map((file) => (counter as FileCounter).read(file));
}
