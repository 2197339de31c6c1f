const LONGEST_MS = 3_600_000;

/** Retry-After (seconds or an HTTP date) as a wait from `now`, at most an hour; undefined when absent or unreadable. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  // An HTTP date begins with its weekday; Date.parse would make something of nearly anything.
  if (header === null || !/^\s*(\d+\s*$|[A-Z][a-z]{2})/.test(header)) return undefined;
  const at = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at, 0), LONGEST_MS);
}
