import { describe, expect, it } from '@jest/globals';
import { filterOf } from './filter.js';

const NOW = Date.UTC(2026, 0, 31, 12);

describe('conditions on letters', () => {
  it('hold what was given and nothing else', () => {
    expect(filterOf({})).toEqual({});
    expect(filterOf({ queue: 'q', status: 'open', text: 'a=b' })).toEqual({
      queue: 'q',
      status: 'open',
      text: 'a=b',
    });
  });

  it.each([
    ['15m', NOW - 15 * 60_000],
    ['90s', NOW - 90_000],
    ['7d', NOW - 7 * 86_400_000],
    ['999999d', 0],
    ['2026-01-31T08:00Z', Date.UTC(2026, 0, 31, 8)],
    ['1769846400000', 1_769_846_400_000],
  ])('take %s as a time', (text, at) => {
    expect(filterOf({ from: text, until: text }, NOW)).toEqual({ from: at, until: at });
  });

  it.each(['yesterday', '', '5', '-1h', '2h ago'])('refuse %j as a time', (text) => {
    expect(() => filterOf({ from: text }, NOW)).toThrow('--from: found');
  });

  it('split payload fields at the first equals sign', () => {
    expect(filterOf({ payload: ['a.b=1', 'c=x=y'] })).toEqual({ payload: { 'a.b': '1', c: 'x=y' } });
    for (const wrong of ['a', '=1', 'a='])
      expect(() => filterOf({ payload: [wrong] })).toThrow('write <path>=<value>');
  });
});
