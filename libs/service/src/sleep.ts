import { setTimeout as timer } from 'node:timers/promises';

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects: the caller looks at the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await timer(ms, undefined, { signal }).catch(() => {});
}

const LATE = Symbol('late');

/** The promise's outcome, or `onTimeout()` when it takes longer than `ms`. The promise itself goes on unobserved. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  onTimeout: () => T | Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<typeof LATE>((resolve) => (timer = setTimeout(resolve, ms, LATE)));
  try {
    const first = await Promise.race([promise, timeout]);
    return first === LATE ? await onTimeout() : first;
  } finally {
    clearTimeout(timer);
    promise.catch(() => {});
  }
}
