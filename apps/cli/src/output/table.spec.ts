import { describe, expect, it } from '@jest/globals';
import { bytes, json, plain, plainLines, short, tableOf, time } from './table.js';

// Nothing that moves a cursor, colours, or turns the direction of writing. The line break alone may remain.
const ACTIVE = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
const HOSTILE = '\u001b[2J\u009b31m\r\b\u0000\u007f\u202eevil\u2066\u200f\u2028\ud800<script>';

describe('text for a terminal', () => {
  it('shows sizes and rates without a tail of digits', () => {
    expect([980.0386, 0, 1500, 2.5e9].map(bytes)).toEqual(['980 B', '0 B', '1.5 kB', '2.5 GB']);
  });

  it('holds no character that acts on the terminal', () => {
    expect(plain(HOSTILE)).not.toMatch(ACTIVE);
    expect(plain('a\nb')).toBe('a\\u000ab');
    expect(plain('naïve 漢字 🙂')).toBe('naïve 漢字 🙂');
  });

  it('keeps the lines of a stack and nothing else', () => {
    expect(plainLines('a\u001b[1m\r\nb')).toBe('a\\u001b[1m\\u000d\nb');
  });

  it('is cut after it was made inert', () => {
    expect(short('abcdef', 4)).toBe('abc…');
    expect(short('abcd', 4)).toBe('abcd');
    expect(short('\u001b'.repeat(10), 8)).toBe('\\u001b\\…');
    expect(short('x'.repeat(1_000_000), 20)).toHaveLength(20);
  });

  it('fits a terminal: the widest texts are cut, numbers and short ids never', () => {
    const group = { id: '1f0c3a5b7d9e', open: 12_345, error: 'x'.repeat(300), frame: 'y'.repeat(90) };
    const columns = { GROUP: 'id', OPEN: 'open', ERROR: 'error', FRAME: 'frame' } as const;
    const lines = tableOf([group], columns, 120).trimEnd().split('\n');
    expect(lines.map((line) => line.length)).toEqual([expect.any(Number), 120]);
    expect(lines[1]).toMatch(/^1f0c3a5b7d9e {2}12,345 {2}x+… {2}y+…$/);
    expect(tableOf([group], { ERROR: 'error' }, undefined)).toContain('x'.repeat(300));
  });

  it('stays one row a row in a table', () => {
    const text = tableOf([{ a: 'x\ny\u001b[0m', n: 1_000 }], { A: 'a', N: 'n' });
    expect(text.trimEnd().split('\n')).toHaveLength(2);
    expect(text.replaceAll('\n', '')).not.toMatch(ACTIVE);
  });
});

describe('JSON', () => {
  it('says the same value without characters that act on a terminal', () => {
    const value = { [HOSTILE]: [HOSTILE, { deep: 1 }], __proto__: null, text: 'a\nb\t"c"\\' };
    const text = json(value);
    expect(text.replaceAll('\n', '')).not.toMatch(ACTIVE);
    expect(JSON.parse(text)).toEqual({ ...value });
  });
});

describe('a moment', () => {
  it('is shown in UTC, and as nothing when it is none', () => {
    expect(time(Date.UTC(2026, 0, 31, 8, 5, 9))).toBe('2026-01-31 08:05:09Z');
    expect([time(null), time(undefined), time(Infinity), time(1e300)]).toEqual(['', '', '', '']);
  });
});
