const LONGEST_MS = 3_600_000;

/** Retry-After (seconds or an HTTP date) as a wait from `now`, at most an hour; undefined when absent or unreadable. */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') return undefined;
  const at = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at, 0), LONGEST_MS);
}
