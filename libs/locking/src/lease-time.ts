/** Milliseconds that a server's clock may gain on ours during a lease, as Redlock allows: 1 %, and 2 ms for the grain of expiry. */
export function driftMs(leaseMs: number): number {
  return Math.ceil(leaseMs * 0.01) + 2;
}

/** Milliseconds kept for this process to notice: a timer may fire late, a listener takes its time. */
export function reactionMs(leaseMs: number): number {
  return Math.ceil(leaseMs * 0.05);
}

/**
 * The monotonic time until which a lease may be relied on, counted from before the command that set or renewed it was
 * sent. The server cannot have begun to count earlier than that, so it cannot have expired the key yet.
 */
export function deadlineOf(sentAt: number, leaseMs: number): number {
  return sentAt + leaseMs - driftMs(leaseMs) - reactionMs(leaseMs);
}

/** Milliseconds between renewals: as configured, but often enough that two may fail even for a short lease. */
export function renewalIntervalMs(configuredMs: number, leaseMs: number): number {
  return Math.min(configuredMs, leaseMs / 3);
}

/** The monotonic time of the renewal after a successful one. Up to 10 % early, so that a fleet does not beat in step. */
export function nextRenewal(now: number, intervalMs: number, random: () => number): number {
  return now + intervalMs * (1 - 0.1 * random());
}

/** The monotonic time of the next try after a renewal that got no answer: sooner as the deadline comes nearer. */
export function retryRenewal(
  now: number,
  deadline: number,
  intervalMs: number,
  random: () => number,
): number {
  const pause = Math.max(10, Math.min(intervalMs, (deadline - now) / 5));
  return now + pause * (1 - 0.5 * random());
}
