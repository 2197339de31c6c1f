// Test-only: what a thread can do well and badly, on command. Used by this lib's integration tests, by nothing else.
import { setTimeout as delay } from 'node:timers/promises';
import type { ThreadContext } from '../src/thread-wire.js';

export type TestingTask =
  | { do: 'echo'; value: unknown }
  | { do: 'data' }
  | { do: 'go-on' }
  | { do: 'throw' }
  | { do: 'throw-undefined' }
  | { do: 'exit'; code: number }
  | { do: 'exhaust-memory' }
  | { do: 'throw-later' }
  | { do: 'return-function' }
  | { do: 'read-missing-file' }
  | { do: 'byte-length'; buffer: ArrayBuffer }
  /** Counts itself into `gate[0]`, then runs until it is aborted or `gate[1]` is set. */
  | { do: 'work'; gate: Int32Array; cooperative: boolean };

export default async function testing(task: TestingTask, context: ThreadContext): Promise<unknown> {
  switch (task.do) {
    case 'echo':
      return task.value;
    case 'data':
      return context.data;
    case 'go-on':
      context.throwIfAborted();
      return 'went on';
    case 'throw':
      throw Object.assign(new RangeError('too far', { cause: new Error('the reason') }), { code: 'TOO_FAR' });
    case 'throw-undefined':
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- the pool must survive it
      throw undefined;
    case 'exit':
      return process.exit(task.code);
    case 'exhaust-memory':
      return exhaustMemory();
    case 'throw-later':
      setTimeout(() => {
        throw new Error('thrown outside the task');
      });
      return delay(60_000);
    case 'return-function':
      return () => 'not cloneable';
    case 'read-missing-file':
      return (await import('node:fs/promises')).readFile('/no/such/file');
    case 'byte-length':
      return task.buffer.byteLength;
    case 'work':
      return work(task, context);
  }
}

function exhaustMemory(): never {
  const hoard: number[][] = [];
  for (;;) hoard.push(new Array<number>(100_000).fill(hoard.length + 0.5));
}

function work(
  { gate, cooperative }: { gate: Int32Array; cooperative: boolean },
  context: ThreadContext,
): string {
  Atomics.add(gate, 0, 1);
  while (Atomics.load(gate, 1) === 0) {
    Atomics.wait(gate, 1, 0, 5);
    if (cooperative) context.throwIfAborted();
  }
  return 'finished';
}
