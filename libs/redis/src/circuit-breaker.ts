export interface BreakerOptions {
  /** Failures in a row that open the circuit. */
  failureThreshold: number;
  /** How long the circuit stays open the first time. */
  cooldownMs: number;
  /** Ceiling of the cooldown, which doubles with every failed probe. */
  maxCooldownMs: number;
}

/** The ceiling keeps recovery within 30 s of Redis' return: one cooldown, one probe, one reconnect. */
export const BREAKER: BreakerOptions = { failureThreshold: 5, cooldownMs: 1_000, maxCooldownMs: 10_000 };

/** `until` is monotonic time. `trips` counts openings since the circuit was last closed. */
export type BreakerState =
  | { state: 'closed'; failures: number }
  | { state: 'open'; until: number; trips: number }
  | { state: 'half-open'; trips: number };

export const CLOSED: BreakerState = { state: 'closed', failures: 0 };

/** The state after a call or connection attempt failed. A failure while open changes nothing: nobody was let through. */
export function afterFailure(
  breaker: BreakerState,
  now: number,
  options: BreakerOptions,
  random: () => number,
): BreakerState {
  if (breaker.state === 'open') return breaker;
  if (breaker.state === 'half-open') return open(breaker.trips + 1, now, options, random);
  const failures = breaker.failures + 1;
  return failures >= options.failureThreshold ? open(1, now, options, random) : { state: 'closed', failures };
}

/** The state after a call worked. Only the probe of a half-open circuit closes it. */
export function afterSuccess(breaker: BreakerState): BreakerState {
  return breaker.state === 'open' || (breaker.state === 'closed' && breaker.failures === 0)
    ? breaker
    : CLOSED;
}

/** Takes the one probe that a cooled-down circuit allows; null when there is none to take. */
export function takeProbe(breaker: BreakerState, now: number): BreakerState | null {
  return breaker.state === 'open' && now >= breaker.until
    ? { state: 'half-open', trips: breaker.trips }
    : null;
}

/** How long a refused caller should wait; 0 when calls are let through. */
export function retryAfterMs(breaker: BreakerState, now: number, options: BreakerOptions): number {
  if (breaker.state === 'closed') return 0;
  return breaker.state === 'open' ? Math.max(1, Math.ceil(breaker.until - now)) : options.cooldownMs;
}

/** How long a connection without a gate waits after so many failed attempts in a row; 0 below the threshold. */
export function holdOffMs(attempt: number, options: BreakerOptions, random: () => number): number {
  const trips = attempt - options.failureThreshold + 1;
  return trips < 1 ? 0 : cooldownMs(trips, options, random);
}

function open(trips: number, now: number, options: BreakerOptions, random: () => number): BreakerState {
  return { state: 'open', until: now + cooldownMs(trips, options, random), trips };
}

// Half fixed, half random: never shorter than half the cooldown, and a fleet does not probe in step.
function cooldownMs(trips: number, options: BreakerOptions, random: () => number): number {
  const cooldown = Math.min(options.maxCooldownMs, options.cooldownMs * 2 ** Math.min(trips - 1, 30));
  return cooldown / 2 + (random() * cooldown) / 2;
}
