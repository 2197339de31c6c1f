import { systemClock, type Clock } from '#service';

/**
 * Tells files that nobody will enqueue from those that their producer is about to. Both have no job; the first are still
 * there at a later look.
 */
export class OrphanedFiles {
  private seen = new Set<string>();
  private since = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  /** Told the files without a job now; true when one of them had none `settledMs` ago either. */
  detect(unsent: readonly string[], settledMs: number): boolean {
    const now = this.clock.monotonic();
    const still = unsent.filter((file) => this.seen.has(file));
    if (still.length > 0) return now - this.since >= settledMs;
    this.seen = new Set(unsent);
    this.since = now;
    return false;
  }
}
