import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import { Strandings } from './strandings.js';

describe('Strandings', () => {
  it('calls nothing stranded that it sees for the first time', () => {
    expect(new Strandings(new FakeClock()).look(['1-1'], 0)).toBe(false);
  });

  it('calls a file stranded that is still there after the time to settle, not before', () => {
    const clock = new FakeClock();
    const strandings = new Strandings(clock);
    const at = (ms: number, ...files: string[]): boolean => {
      clock.advance(ms);
      return strandings.look(files, 3_000);
    };
    expect([at(0, '1-1', '2-1'), at(2_000, '2-1', '3-1'), at(1_000, '2-1', '9-1')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('does not mind how many come and go, nor a new revision of the same file', () => {
    const clock = new FakeClock();
    const strandings = new Strandings(clock);
    const found = ['1-1', '2-1', '3-1', '1-2'].map((file) => {
      clock.advance(5_000);
      return strandings.look([file], 3_000);
    });
    expect(found).toEqual([false, false, false, false]);
  });
});
