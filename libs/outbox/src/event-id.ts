import { randomBytes } from 'node:crypto';

const COUNTER_LIMIT = 0x1000;

/**
 * Makes UUIDs of version 7: by time, and within a millisecond by a counter, so that ids of one process sort in the order
 * in which they were made, also when the wall clock goes back.
 */
export class EventIds {
  private lastMs = 0;
  private counter = 0;

  constructor(
    private readonly now: () => number = Date.now,
    private readonly random: (size: number) => Buffer = randomBytes,
  ) {}

  next(): string {
    const now = this.now();
    if (now > this.lastMs) [this.lastMs, this.counter] = [now, 0];
    else if (++this.counter === COUNTER_LIMIT) [this.lastMs, this.counter] = [this.lastMs + 1, 0];
    const time = this.lastMs.toString(16).padStart(12, '0');
    const counter = this.counter.toString(16).padStart(3, '0');
    const noise = this.random(8);
    noise[0] = ((noise[0] ?? 0) & 0x3f) | 0x80;
    const tail = noise.toString('hex');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  }
}

const ids = new EventIds();

export const newEventId = (): string => ids.next();
