import type { Clock } from '#service';

/** A value younger than this is as good as a new one. */
const FRESH_MS = 1_000;
/** A read that took longer is not waited for again: the old value is given while the new one is made. */
const PATIENCE_MS = 25;
/** Reading takes at most this part of the time, however large the tables grow. */
const SHARE = 1 / 20;
const OLD_MS = 60_000;

/**
 * A value that costs something to read. It is read when asked for, never twice at once, and the rarer the dearer it is; only
 * the first who ask wait for a dear one. Nobody asks: nothing is read.
 */
export class Renewed<T> {
  private last: { value: T; at: number; costMs: number } | undefined;
  private reading: Promise<T> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly read: () => Promise<T>,
  ) {}

  async get(): Promise<T> {
    const { last } = this;
    if (!last) return this.renew();
    const ageMs = this.clock.monotonic() - last.at;
    const freshMs = Math.max(FRESH_MS, last.costMs / SHARE);
    if (ageMs < freshMs) return last.value;
    const reading = this.renew();
    // Much too old: the reads fail, and whoever asks should learn of it.
    if (last.costMs <= PATIENCE_MS || ageMs > freshMs + OLD_MS) return reading;
    reading.catch(() => {});
    return last.value;
  }

  private renew(): Promise<T> {
    this.reading ??= this.measured().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async measured(): Promise<T> {
    const begun = this.clock.monotonic();
    const value = await this.read();
    const at = this.clock.monotonic();
    this.last = { value, at, costMs: at - begun };
    return value;
  }
}
