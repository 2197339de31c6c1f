import { afterEach, describe, expect, it } from '@jest/globals';
import { allowColour, paint } from './colour.js';

const terminal = (isTTY: boolean, colours: boolean) => ({ isTTY, hasColors: () => colours });

describe('colour', () => {
  afterEach(() => allowColour(true));

  it('is for terminals that have it', () => {
    expect(paint('red', 'open', terminal(true, true))).toBe('\u001b[31mopen\u001b[0m');
    expect(paint('red', 'open', terminal(true, false))).toBe('open');
    expect(paint('red', 'open', terminal(false, true))).toBe('open');
  });

  it('is not used with --no-color', () => {
    allowColour(false);
    expect(paint('red', 'open', terminal(true, true))).toBe('open');
  });
});
