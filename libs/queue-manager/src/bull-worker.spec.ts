import { describe, expect, it } from '@jest/globals';
import { repairOf } from './bull-worker.js';

describe('a job record that BullMQ cannot parse', () => {
  it('is made to fail instead of stalling for ever', () => {
    expect(repairOf({ opts: '{broken', progress: '0' })).toEqual({
      opts: '{}',
      defa: 'the job record is corrupt: opts is not JSON',
    });
    expect(repairOf({ opts: 'null', progress: 'x', parent: '}' })).toEqual({
      opts: '{}',
      progress: '0',
      parent: '',
      defa: 'the job record is corrupt: opts, progress, parent is not JSON',
    });
  });

  it('is left alone when it is sound', () => {
    expect(repairOf({ opts: '{"attempts":3}', progress: '0', parent: null })).toBeNull();
    expect(repairOf({})).toBeNull();
  });
});
