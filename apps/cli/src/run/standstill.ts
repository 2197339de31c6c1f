/** Notices that a run does not move on. Pure: it is told what was counted, and when. */
export class Standstill {
  private last = '';
  private since = 0;

  /** Milliseconds for which the counts have been what they are now. */
  observe(counts: object, now: number): number {
    const text = JSON.stringify(counts);
    if (text !== this.last) {
      this.last = text;
      this.since = now;
    }
    return now - this.since;
  }

  /** Counts from now on: for what stood still until now there was a reason that will pass. */
  restart(now: number): void {
    this.since = now;
  }
}
