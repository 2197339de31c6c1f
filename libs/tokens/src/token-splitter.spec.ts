import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  countTokens,
  type EncodingName,
  ENCODINGS,
  MAX_PIECE_BYTES,
  TokenCounter,
  type TokenPart,
  TokenSplitter,
} from './index.js';

const full = process.env.MILLRACE_TORTURE === 'full';
const encoder = new TextEncoder();
const FRAGMENTS = [
  ...[
    'a',
    ' the',
    "'s",
    "'LL",
    ' ',
    '  ',
    '\t',
    '\n',
    '\n',
    '\r\n',
    '\r',
    '\n\n\n',
    ';\n/',
    '}\n\n/**\n',
    '1',
    '45678',
    'é',
  ],
  ...[
    '中文',
    '\u0301',
    '😀',
    '\ufeff',
    '\u3000',
    '\u0085',
    'foo(bar);\n',
    '   x',
    'a'.repeat(40),
    '-'.repeat(30) + '\n',
  ],
];
const ILL_FORMED = [[0xff], [0x80], [0xe2, 0x82], [0xf0, 0x9f], [0xed, 0xa0, 0x80]];

const content = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...FRAGMENTS).map((part) => [...encoder.encode(part)]) },
      { weight: 1, arbitrary: fc.constantFrom(...ILL_FORMED) },
    ),
    { maxLength: 60 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));
/** Longer than a leap, and as long as a run may be: merging one takes its time, which is not what is tested. */
const RUN_BYTES = full ? 280_000 : 20_000;
/** Long enough for several leaps, with runs longer than one. */
const largeContent = fc
  .array(
    fc.tuple(
      fc.constantFrom(...FRAGMENTS, '  1', ' '.repeat(300), 'x'.repeat(700)),
      fc.integer({ min: 1, max: 400 }),
    ),
    { minLength: 40, maxLength: 150 },
  )
  .map((runs) => Buffer.from(runs.map(([part, count]) => part.repeat(count).slice(0, RUN_BYTES)).join('')));
const budget = fc.integer({ min: 4, max: 40 });
const chunkSize = fc.integer({ min: 1, max: 30 });

const chunksOf = (whole: Uint8Array, size: number) =>
  Array.from({ length: Math.ceil(whole.length / size) }, (_, i) => whole.subarray(i * size, (i + 1) * size));

const countBytes = (bytes: Uint8Array, encoding: EncodingName) => {
  const counter = new TokenCounter(encoding);
  counter.push(bytes);
  return counter.end();
};

/** The parts of a file given as chunks. */
function* splitByTokens(
  chunks: Iterable<Uint8Array>,
  budget: number,
  encoding?: EncodingName,
): Generator<TokenPart, void, void> {
  const splitter = new TokenSplitter(budget, encoding);
  for (const chunk of chunks) yield* splitter.push(chunk);
  yield* splitter.end();
}

const texts = (whole: string, parts: readonly TokenPart[]) =>
  parts.map(({ start, end }) => Buffer.from(whole).subarray(start, end).toString());
const split = (whole: string, limit: number, encoding?: EncodingName) =>
  texts(whole, [...splitByTokens([encoder.encode(whole)], limit, encoding)]);

describe.each(ENCODINGS)('splitting by %s', (encoding) => {
  it('gives parts that follow each other without gap and are the file together', () => {
    fc.assert(
      fc.property(content, budget, chunkSize, (whole, limit, size) => {
        const parts = [...splitByTokens(chunksOf(whole, size), limit, encoding)];
        const ends = parts.map(({ end }) => end);
        expect(parts.map(({ start }) => start)).toEqual([0, ...ends].slice(0, parts.length));
        expect(ends.at(-1) ?? 0).toBe(whole.length);
        expect(parts.every(({ start, end }) => end > start)).toBe(true);
      }),
      { numRuns: full ? 500 : 150 },
    );
  });

  it('gives parts that fit the budget and count, alone, what it says they count', () => {
    fc.assert(
      fc.property(content, budget, chunkSize, (whole, limit, size) => {
        for (const { start, end, tokens } of splitByTokens(chunksOf(whole, size), limit, encoding)) {
          expect(tokens).toBeLessThanOrEqual(limit);
          expect(countBytes(whole.subarray(start, end), encoding)).toBe(tokens);
        }
      }),
      { numRuns: full ? 1000 : 250 },
    );
  });

  it('cuts inside a line only where that line does not fit a part', () => {
    fc.assert(
      fc.property(content, budget, (whole, limit) => {
        for (const { start, end } of splitByTokens([whole], limit, encoding)) {
          if (end === whole.length || whole[end - 1] === 0x0a) continue;
          expect(whole.subarray(start, end)).not.toContain(0x0a);
          const lineEnd = whole.indexOf(0x0a, end) + 1 || whole.length;
          expect(countBytes(whole.subarray(start, lineEnd), encoding)).toBeGreaterThan(limit);
        }
      }),
      { numRuns: full ? 1000 : 250 },
    );
  });

  it('does the same with budgets so large that it leaps', () => {
    fc.assert(
      fc.property(largeContent, fc.integer({ min: 8_192, max: 20_000 }), (whole, limit) => {
        const parts = [...splitByTokens([whole], limit, encoding)];
        let at = 0;
        for (const { start, end, tokens } of parts) {
          expect(start).toBe(at);
          at = end;
          expect(tokens).toBeLessThanOrEqual(limit);
          expect(countBytes(whole.subarray(start, end), encoding)).toBe(tokens);
          if (end === whole.length) continue;
          // What follows up to the next line end did not fit; a cut inside a line is one that no line end precedes.
          const lineEnd = whole.indexOf(0x0a, end) + 1 || whole.length;
          expect(countBytes(whole.subarray(start, lineEnd), encoding)).toBeGreaterThan(limit);
          if (whole[end - 1] !== 0x0a) expect(whole.subarray(start, end).includes(0x0a)).toBe(false);
        }
        expect(at).toBe(whole.length);
      }),
      { numRuns: full ? 60 : 8 },
    );
  });

  it('never cuts inside a character or between CR and LF', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('é', '中', '😀', '\r\n', 'ab'), { maxLength: 60 }),
        budget,
        (parts, limit) => {
          const whole = parts.join('');
          const pieces = split(whole, limit, encoding);
          expect(pieces.join('')).toBe(whole);
          expect(pieces.filter((piece) => piece.startsWith('\n'))).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('gives the same parts whatever the chunks', () => {
    const whole = encoder.encode(sourceLike(3000));
    const expected = [...splitByTokens([whole], 500, encoding)];
    for (const size of [1021, 65_536, 70_001]) {
      expect([...splitByTokens(chunksOf(whole, size), 500, encoding)]).toEqual(expected);
    }
  });

  it('fills parts of short lines to within a line of the budget', () => {
    const whole = sourceLike(3000);
    const parts = [...splitByTokens([encoder.encode(whole)], 1000, encoding)];
    expect(parts.slice(0, -1).every(({ tokens }) => tokens > 950)).toBe(true);
    expect(texts(whole, parts).every((part) => part.endsWith('\n'))).toBe(true);
  });

  it('keeps every part of a run longer than a piece within the budget', () => {
    for (const unit of ['a', '中', ' ', '\r\n', 'Ab1']) {
      const whole = encoder.encode(unit.repeat(Math.ceil((2 * MAX_PIECE_BYTES) / unit.length)));
      for (const limit of [300, 3000]) {
        const parts = [...splitByTokens(chunksOf(whole, 10_000), limit, encoding)];
        const counted = parts.map(({ start, end }) => countBytes(whole.subarray(start, end), encoding));
        expect([unit, limit, counted]).toEqual([unit, limit, parts.map(({ tokens }) => tokens)]);
        expect(Math.max(...counted)).toBeLessThanOrEqual(limit);
        expect(parts.at(-1)?.end).toBe(whole.length);
      }
    }
  });
});

describe('TokenSplitter', () => {
  it('gives no part for an empty file', () => {
    expect([...splitByTokens([], 10)]).toEqual([]);
    expect([...splitByTokens([new Uint8Array(0)], 10)]).toEqual([]);
  });

  it('gives one part for a file that fits', () => {
    expect([...splitByTokens([encoder.encode('hello world\n')], 10)]).toEqual([
      { start: 0, end: 12, tokens: countTokens('hello world\n') },
    ]);
  });

  it('cuts at a line end that a piece of the pattern runs across', () => {
    // In o200k the symbols, the line break and the slash are one piece.
    expect(split('one one;\n/two two;\n/three three;\n', 4)).toEqual([
      'one one;\n',
      '/two two;\n',
      '/three three;\n',
    ]);
  });

  it('leaves blank lines with the line before them when they fit', () => {
    expect(split('alpha beta\n\n\ngamma delta\n', 4)).toEqual(['alpha beta\n\n\n', 'gamma delta\n']);
  });

  it('hands over a part as soon as it is certain, and starts over after the end', () => {
    const splitter = new TokenSplitter(100);
    const whole = encoder.encode(sourceLike(2000));
    expect(splitter.push(whole).length).toBeGreaterThan(100);
    const last = splitter.end();
    expect(last.at(-1)?.end).toBe(whole.length);
    expect([...splitter.push(encoder.encode('a\n')), ...splitter.end()]).toEqual([
      { start: 0, end: 2, tokens: 2 },
    ]);
  });

  it('reports offsets of the file as it is when ill-formed bytes were counted as replacement characters', () => {
    const whole = Buffer.concat([
      Buffer.from('one\n'),
      Buffer.from([0xff, 0xe2, 0x82]),
      Buffer.from('\ntwo three four\n'),
    ]);
    const parts = [...splitByTokens([whole], 5)];
    expect(parts.map(({ start, end }) => whole.subarray(start, end).toString('latin1'))).toEqual([
      'one\n\xff\xe2\x82\n',
      'two three four\n',
    ]);
  });

  it.each([3, 0, -1, 4.5, Number.NaN])('refuses a budget of %d', (limit) => {
    expect(() => new TokenSplitter(limit)).toThrow(
      expect.objectContaining({ code: 'TOKENS_BUDGET_TOO_SMALL' }),
    );
  });
});

function sourceLike(lines: number): string {
  return Array.from(
    { length: lines },
    (_, i) => `  const name${i} = build(${i}, "naïve 中文"); // note ${i}\n`,
  ).join('');
}
