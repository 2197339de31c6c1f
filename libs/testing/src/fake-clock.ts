import type { Clock } from '#service';

/** A clock that moves only when told. Wall and monotonic time can be moved apart, as a clock jump does. */
export class FakeClock implements Clock {
  private wall: number;
  private mono = 0;

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.wall = startMs;
  }

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.mono;
  }

  advance(ms: number): void {
    this.wall += ms;
    this.mono += ms;
  }

  /** The wall clock is set; no time passes. */
  jump(ms: number): void {
    this.wall += ms;
  }
}
