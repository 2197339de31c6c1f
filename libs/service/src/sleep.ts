import { setTimeout as timer } from 'node:timers/promises';

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects: the caller looks at the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await timer(ms, undefined, { signal }).catch(() => {});
}

/** The promise's outcome, or `onTimeout()` when it takes longer than `ms`. The promise itself goes on unobserved. */
export async function within<T>(
  ms: number,
  promise: Promise<T>,
  onTimeout: () => T | Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), ms);
  });
  const guarded = promise.then((value) => ({ value }));
  try {
    const first = await Promise.race([guarded, timeout]);
    return first === 'timeout' ? await onTimeout() : first.value;
  } finally {
    clearTimeout(timer);
    guarded.catch(() => {});
  }
}
