/**
 * Spreads work evenly over time: how many items may be done now, given a rate. A slow round does not lead to a burst:
 * what was not used is kept for one second at most.
 */
export class Pace {
  private allowance = 0;
  private last: number | undefined;

  constructor(private readonly rate: number | null) {}

  /** How many of `wanted` may be done at `now` (monotonic milliseconds). */
  take(wanted: number, now: number): number {
    if (this.rate === null) return wanted;
    this.allowance = Math.min(this.rate, this.allowance + ((now - (this.last ?? now)) * this.rate) / 1_000);
    // The first round needs no waiting: one item may always begin.
    if (this.last === undefined) this.allowance = 1;
    this.last = now;
    const granted = Math.min(wanted, Math.floor(this.allowance));
    this.allowance -= granted;
    return granted;
  }
}
