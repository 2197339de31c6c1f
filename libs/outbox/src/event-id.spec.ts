import { describe, expect, it } from '@jest/globals';
import { EventIds } from './event-id.js';

describe('event ids', () => {
  it('are UUIDs of version 7 that tell the time', () => {
    const id = new EventIds(() => 0x0123456789ab).next();
    expect(id).toMatch(/^01234567-89ab-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('sort in the order made, within one millisecond and when the clock goes back', () => {
    const times = [1_000, 1_000, 999, 1_001, 500];
    let calls = 0;
    const ids = new EventIds(() => times[calls++ % times.length] ?? 0);
    const made = Array.from({ length: 20_000 }, () => ids.next());
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });
});
