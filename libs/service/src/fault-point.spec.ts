import { afterEach, describe, expect, it } from '@jest/globals';
import { armFault, faultPoint } from './index.js';

describe('faultPoint', () => {
  afterEach(() => armFault(undefined));

  it('does nothing unless armed', () => {
    expect(faultPoint('batcher.after-commit')).toBeUndefined();
  });

  it('acts on the nth pass of the armed point only', () => {
    armFault('batcher.after-commit:2:throw');
    expect(faultPoint('batcher.before-commit')).toBeUndefined();
    expect(faultPoint('batcher.after-commit')).toBeUndefined();
    expect(() => faultPoint('batcher.after-commit')).toThrow('fault injected at batcher.after-commit');
    expect(faultPoint('batcher.after-commit')).toBeUndefined();
  });

  it.each(['x', 'x:0:kill', 'x:1:explode', 'x:1', ':1:kill'])(
    'refuses %p with the form that is allowed',
    (spec) => {
      expect(() => armFault(spec)).toThrow('<point>:<nth>:<kill|stop|throw|hang|block>');
    },
  );
});
