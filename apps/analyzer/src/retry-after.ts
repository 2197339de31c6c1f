const LONGEST_MS = 3_600_000;

/** Retry-After (seconds or an HTTP date) as a wait from `now`, at most an hour; undefined when absent or unreadable. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  const text = header?.trim() ?? '';
  // An HTTP date begins with its weekday; Date.parse would make something of nearly anything.
  const date = /^[A-Z]/.test(text) ? Date.parse(text) - now : NaN;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : date;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), LONGEST_MS);
}
