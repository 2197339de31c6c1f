// What runs first on every thread of a ThreadPool. It loads the handler on demand rather than at the start, so that a
// file that cannot be loaded fails tasks with its own error instead of killing thread after thread.
import { inspect, types } from 'node:util';
import { workerData } from 'node:worker_threads';
import {
  TASK_FLAG,
  toWire,
  type ThreadContext,
  type ThreadHandler,
  type ThreadReply,
  type ThreadRequest,
  type ThreadSetup,
} from './thread-wire.js';

const { file, data } = workerData as ThreadSetup;
let handler: ThreadHandler | undefined;

// What kills a thread is copied to the pool, and only true errors survive that: the DOMException of a result that
// cannot be cloned would arrive as {}.
process.on('uncaughtException', (error) => {
  throw types.isNativeError(error) ? error : new Error(inspect(error));
});

export default async function answer(request: ThreadRequest): Promise<ThreadReply> {
  try {
    if (request.kind === 'task') Atomics.store(request.flags, TASK_FLAG.started, 1);
    handler ??= await load();
    const value = request.kind === 'task' ? await handler(request.task, contextOf(request.flags)) : undefined;
    return { ok: true, value };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

async function load(): Promise<ThreadHandler> {
  const loaded = (await import(/* webpackIgnore: true */ file)) as { default?: unknown };
  if (typeof loaded.default === 'function') return loaded.default as ThreadHandler;
  throw new TypeError(`${file} has no default export that is a function; export its handler as default`);
}

function contextOf(flags: Int32Array): ThreadContext {
  return {
    data,
    get aborted() {
      return Atomics.load(flags, TASK_FLAG.aborted) === 1;
    },
    throwIfAborted() {
      if (this.aborted) throw new Error('the caller gave this task up');
    },
  };
}
