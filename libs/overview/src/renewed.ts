import type { Clock } from '#service';

export interface RenewedOptions<T> {
  read: () => Promise<T>;
  clock: Clock;
  /** A value younger than this is as good as a new one. */
  freshMs: number;
  /** A read that took longer is not waited for again: the old value is given while the new one is made. */
  patienceMs: number;
}

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

  constructor(private readonly options: RenewedOptions<T>) {}

  async get(): Promise<T> {
    const { last, options } = this;
    if (!last) return this.read();
    const ageMs = options.clock.monotonic() - last.at;
    const freshMs = Math.max(options.freshMs, last.costMs / SHARE);
    if (ageMs < freshMs) return last.value;
    const reading = this.read();
    // Much too old: the reads fail, and whoever asks should learn of it.
    if (last.costMs <= options.patienceMs || ageMs > freshMs + OLD_MS) return reading;
    reading.catch(() => {});
    return last.value;
  }

  private read(): Promise<T> {
    this.reading ??= this.measured().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async measured(): Promise<T> {
    const { read, clock } = this.options;
    const begun = clock.monotonic();
    const value = await read();
    const at = clock.monotonic();
    this.last = { value, at, costMs: at - begun };
    return value;
  }
}
