import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Command } from 'commander';
import type { LetterFilter } from '#dlq-client';
import { addFilterOptions, filterOf } from './filter.js';

const NOW = Date.UTC(2026, 0, 31, 12);

/** The filter that a command with these words asks for. */
const filterFor = (...words: string[]): LetterFilter =>
  filterOf(addFilterOptions(new Command()).parse(words, { from: 'user' }).opts());

describe('conditions on letters', () => {
  beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(NOW));
  afterEach(() => void jest.restoreAllMocks());

  it('hold what was given and nothing else', () => {
    expect(filterFor()).toEqual({});
    expect(filterFor('--queue', 'q', '--status', 'open', '--text', 'a=b')).toEqual({
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
    expect(filterFor('--from', text, '--until', text)).toEqual({ from: at, until: at });
  });

  it.each(['yesterday', '', '5', '-1h', '2h ago'])('refuse %j as a time', (text) => {
    expect(() => filterFor(`--from=${text}`)).toThrow('--from: found');
  });

  it('split payload fields at the first equals sign', () => {
    expect(filterFor('--payload', 'a.b=1', '--payload', 'c=x=y')).toEqual({
      payload: { 'a.b': '1', c: 'x=y' },
    });
    for (const wrong of ['a', '=1', 'a='])
      expect(() => filterFor(`--payload=${wrong}`)).toThrow('write <path>=<value>');
  });
});
