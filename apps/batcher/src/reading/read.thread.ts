// Runs on the threads of the batcher: paths in, counts out; contents never leave the thread.
import { OpenFolder, type FilePlace } from '#files';
import type { ThreadContext } from '#worker-pool';
import { FileCounter } from './file-counter.js';
import type { ReadOutcome, ReadSettings } from './read-outcome.js';

let counter: FileCounter | undefined;
let current: ThreadContext<ReadSettings> | undefined;

/** Both ways as JSON, which costs a third of a structured clone of as many small objects. */
export default function read(task: string, context: ThreadContext<ReadSettings>): string {
  current = context;
  counter ??= new FileCounter(context.data, () => current?.throwIfAborted());
  const files = JSON.parse(task) as FilePlace[];
  const folder = new OpenFolder();
  try {
    return JSON.stringify(files.map((file): ReadOutcome => (counter as FileCounter).read(file, folder)));
  } finally {
    folder.close();
  }
}
