// Runs on the threads of the batcher: paths in, counts out; contents never leave the thread.
import { OpenFolder } from '#files';
import type { ThreadContext } from '#worker-pool';
import { FileCounter } from './file-counter.js';
import type { ReadSettings } from './read-outcome.js';
import { outcomesToWire, taskFromWire } from './read-wire.js';

let counter: FileCounter | undefined;
let current: ThreadContext<ReadSettings> | undefined;

export default function read(task: string, context: ThreadContext<ReadSettings>): string {
  current = context;
  const reader = (counter ??= new FileCounter(context.data, () => current?.throwIfAborted()));
  const folder = new OpenFolder();
  try {
    return outcomesToWire(taskFromWire(task).map((place) => reader.read(place, folder)));
  } finally {
    folder.close();
  }
}
