/** What a task on a thread may know besides its input. */
export interface ThreadContext<D = unknown> {
  /** True once the caller gave up: look between chunks and end early. */
  readonly aborted: boolean;
  /** Throws once the caller gave up. A task that never looks is terminated with its thread after a grace period. */
  throwIfAborted(): void;
  /** The pool's `workerData`. */
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
