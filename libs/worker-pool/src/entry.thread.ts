// What runs first on every thread of a ThreadPool. It loads the handler on demand rather than at the start, so that a
// file that cannot be loaded fails tasks with its own error instead of killing thread after thread.
import { inspect, types } from 'node:util';
import {
  TASK_FLAG,
  threadTime,
  toWire,
  type ThreadContext,
  type ThreadHandler,
  type ThreadReply,
  type ThreadRequest,
} from './thread-wire.js';

const handlers = new Map<string, ThreadHandler>();

// What kills a thread is copied to the pool, and only true errors survive that: the DOMException of a result that
// cannot be cloned would arrive as {}.
process.on('uncaughtException', (error) => {
  throw types.isNativeError(error) ? error : new Error(inspect(error));
});

export default async function answer(request: ThreadRequest): Promise<ThreadReply> {
  try {
    const { file, data, work } = request;
    if (work) Atomics.store(work.flags, TASK_FLAG.begun, threadTime());
    const handler = handlers.get(file) ?? (await load(file));
    return { ok: true, value: work && (await handler(work.task, contextOf(work.flags, data))) };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

async function load(file: string): Promise<ThreadHandler> {
  const loaded = (await import(/* webpackIgnore: true */ file)) as { default?: unknown };
  if (typeof loaded.default !== 'function')
    throw new TypeError(`${file} has no default export that is a function; export its handler as default`);
  const handler = loaded.default as ThreadHandler;
  handlers.set(file, handler);
  return handler;
}

function contextOf(flags: Int32Array, data: unknown): ThreadContext {
  return {
    data,
    throwIfAborted() {
      if (Atomics.load(flags, TASK_FLAG.aborted) === 1) throw new Error('the caller gave this task up');
    },
  };
}
