export interface EventuallyOptions {
  timeoutMs?: number;
  everyMs?: number;
}

/**
 * Runs `probe` until it neither throws nor returns false, and resolves with its value. When time is up it fails with
 * the last error, so a broken expectation reads as if it had been asserted once.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 20_000, everyMs = 25 }: EventuallyOptions = {},
): Promise<Exclude<T, false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const asked = performance.now();
    const outcome = await attempt(probe);
    if ('value' in outcome) return outcome.value;
    const now = performance.now();
    if (now > deadline) throw outcome.error;
    // A long comparison is not repeated without a pause: what it waits for needs the processor too.
    await new Promise((resolve) => setTimeout(resolve, Math.max(everyMs, 4 * (now - asked))));
  }
}

async function attempt<T>(
  probe: () => T | Promise<T>,
): Promise<{ value: Exclude<T, false> } | { error: unknown }> {
  try {
    const value = await probe();
    if (value === false) return { error: new Error(`still false: ${probe.toString()}`) };
    return { value: value as Exclude<T, false> };
  } catch (error) {
    return { error };
  }
}
