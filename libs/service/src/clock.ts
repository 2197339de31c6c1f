/** Time as the code may see it: wall time for records, monotonic time for every duration and deadline. */
export interface Clock {
  /** UTC milliseconds; may jump. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};
