// What the threads of a scan do. One set of them lists and then hashes: starting another takes as long as hashing
// thousands of small files.
import type { ThreadContext } from '#worker-pool';
import { hash, type HashTask } from './hashing/hash-file.js';
import { list, type ListTask } from './list-task.js';

export default function perform(task: ListTask | HashTask, context: ThreadContext): string {
  return task.kind === 'hash' ? hash(task, context) : list(task, context);
}
