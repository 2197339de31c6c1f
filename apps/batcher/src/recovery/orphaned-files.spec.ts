import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#testing';
import { OrphanedFiles } from './orphaned-files.js';

describe('OrphanedFiles', () => {
  it('calls nothing orphaned that it sees for the first time', () => {
    expect(new OrphanedFiles(new FakeClock()).detect(['1-1'], 0)).toBe(false);
  });

  it('calls a file orphaned that is still there after the time to settle, not before', () => {
    const clock = new FakeClock();
    const orphaned = new OrphanedFiles(clock);
    const at = (ms: number, ...files: string[]): boolean => {
      clock.advance(ms);
      return orphaned.detect(files, 3_000);
    };
    expect([at(0, '1-1', '2-1'), at(2_000, '2-1', '3-1'), at(1_000, '2-1', '9-1')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('does not mind how many come and go, nor a new revision of the same file', () => {
    const clock = new FakeClock();
    const orphaned = new OrphanedFiles(clock);
    const found = ['1-1', '2-1', '3-1', '1-2'].map((file) => {
      clock.advance(5_000);
      return orphaned.detect([file], 3_000);
    });
    expect(found).toEqual([false, false, false, false]);
  });
});
