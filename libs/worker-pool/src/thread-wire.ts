import { inspect, types } from 'node:util';

/** Where in a task's shared flags it says when it began, and its pool that it is to end early. */
export const TASK_FLAG = { begun: 0, aborted: 1 } as const;

/** Milliseconds on a clock that all threads of the process share; it goes round in 50 days, to fit a flag, and is never 0. */
export function threadTime(): number {
  return (process.uptime() * 1_000) | 0 || 1;
}

/** What a task on a thread may know besides its input. */
export interface ThreadContext<D = unknown> {
  /**
   * Throws once the caller gave up: look between chunks. A task that never looks is terminated with its thread after a
   * grace period.
   */
  throwIfAborted(): void;
  /** The pool's `data`. */
  readonly data: D;
}

/**
 * The default export of a `*.thread.ts` file. It awaits everything it starts: a thread that has no task is frozen, not idle.
 * Input and result are copied between threads, so they are paths and plain values, never whole contents.
 */
export type ThreadHandler<I = unknown, O = unknown, D = unknown> = (
  task: I,
  context: ThreadContext<D>,
) => O | Promise<O>;

export interface ThreadRequest {
  /** The address of the file whose default export handles the tasks of the pool. */
  file: string;
  data: unknown;
  /** Without one, the file is only loaded. */
  work?: { task: unknown; flags: Int32Array } | undefined;
}
export type ThreadReply = { ok: true; value: unknown } | { ok: false; error: WireError };

/** An error as plain data: a structured clone would lose its name, its `code` and every other fact. */
interface WireError {
  name: string;
  message: string;
  stack: string | undefined;
  facts: Record<string, Fact>;
  cause: WireError | undefined;
}

type Fact = string | number | boolean | bigint;
const FACT_TYPES = ['string', 'number', 'boolean', 'bigint'];
const OWN_FIELDS = ['name', 'message', 'stack', 'cause', '__proto__'];
// A cause may point back to its error.
const MAX_CAUSES = 5;

export function toWire(thrown: unknown, depth = 0): WireError {
  if (!types.isNativeError(thrown)) {
    const message = `the task threw ${inspect(thrown, { depth: 1, maxStringLength: 200 })}`;
    return { name: 'Error', message, stack: undefined, facts: {}, cause: undefined };
  }
  const { name, message, stack, cause } = thrown;
  const more = cause !== undefined && depth < MAX_CAUSES;
  return { name, message, stack, facts: factsOf(thrown), cause: more ? toWire(cause, depth + 1) : undefined };
}

/** The error again, with name, stack, facts such as `code`, and causes. */
export function fromWire({ name, message, stack, facts, cause }: WireError): Error {
  const error = new Error(message, cause && { cause: fromWire(cause) });
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true });
  return Object.assign(error, facts);
}

function factsOf(error: Error): Record<string, Fact> {
  const facts = Object.entries(error).filter(
    (fact): fact is [string, Fact] => !OWN_FIELDS.includes(fact[0]) && FACT_TYPES.includes(typeof fact[1]),
  );
  return Object.fromEntries(facts);
}
