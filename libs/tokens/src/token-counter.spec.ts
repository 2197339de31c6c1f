import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countTokens, type EncodingName, ENCODINGS, MAX_PIECE_BYTES, TokenCounter } from './index.js';
import { PieceCounter } from './piece-counter.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const FRAGMENTS = [
  'a',
  ' the',
  "'s",
  '  ',
  '\n',
  '\r\n',
  ';\n/',
  '12345',
  'é',
  '中文',
  '\u0301',
  '😀',
  '\ufeff',
  '\u3000',
];
const ILL_FORMED = [
  [0xff],
  [0x80],
  [0xc3],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x98],
  [0xed, 0xa0, 0x80],
  [0xc0, 0x80],
  [0xf5],
];

const text = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 60 }).map((parts) => parts.join(''));
const bytes = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...FRAGMENTS).map((part) => [...encoder.encode(part)]) },
      { weight: 1, arbitrary: fc.constantFrom(...ILL_FORMED) },
    ),
    { maxLength: 40 },
  )
  .map((parts) => Uint8Array.from(parts.flat()));
const chunkSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });

function* chunksOf(whole: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    yield whole.subarray(at, at + size);
    at += size;
  }
}

function countIn(counter: TokenCounter, whole: Uint8Array, sizes: readonly number[]) {
  for (const chunk of chunksOf(whole, sizes)) counter.push(chunk);
  return counter.end();
}

describe.each(ENCODINGS)('TokenCounter for %s', (encoding: EncodingName) => {
  const counter = new TokenCounter(encoding);

  it('counts the same in chunks of any size as in one text', () => {
    fc.assert(
      fc.property(text, chunkSizes, (whole, sizes) => {
        expect(countIn(counter, encoder.encode(whole), sizes)).toBe(countTokens(whole, encoding));
      }),
      { numRuns: 1000 },
    );
  });

  it('counts ill-formed bytes as TextDecoder decodes them, in chunks of any size', () => {
    fc.assert(
      fc.property(bytes, chunkSizes, (whole, sizes) => {
        const decoded = decoder.decode(whole);
        expect(countIn(counter, whole, sizes)).toBe(countTokens(decoded, encoding));
      }),
      { numRuns: 1000 },
    );
  });

  it('counts texts larger than its buffer the same at every chunk size', () => {
    const whole = encoder.encode(longText());
    const expected = countTokens(longText(), encoding);
    for (const sizes of [[whole.length], [65_536], [65_537], [8192, 1], [100_003, 7]]) {
      expect([sizes, countIn(counter, whole, sizes)]).toEqual([sizes, expected]);
    }
  });

  it('cuts a run longer than a piece at the same places in chunks as in one text', () => {
    for (const unit of ['a', 'Ab', ' ', '\n', '\r\n', '中', '-', '\u0301', ' \n']) {
      const run = `x ${unit.repeat(Math.ceil((3 * MAX_PIECE_BYTES) / unit.length))} y`;
      const counted = countIn(counter, encoder.encode(run), [1000, 3, 4099]);
      expect([unit, counted]).toEqual([unit, countTokens(run, encoding)]);
    }
  });

  it('counts the same with a cache of one entry, a large one, and one used before', () => {
    const whole = longText();
    const expected = countTokens(whole, encoding);
    for (const cacheEntries of [1, 100, 1 << 18]) {
      const own = new TokenCounter(encoding, new PieceCounter(encoding, cacheEntries));
      for (let run = 0; run < 2; run++) {
        own.push(encoder.encode(whole));
        expect([cacheEntries, run, own.end()]).toEqual([cacheEntries, run, expected]);
      }
    }
  });
});

describe('TokenCounter', () => {
  const countOf = (content: string | Uint8Array) => {
    const counter = new TokenCounter();
    counter.push(typeof content === 'string' ? encoder.encode(content) : content);
    return counter.end();
  };

  it('counts a byte-order mark, also one that arrives a byte at a time', () => {
    expect(countOf('\ufeffhello')).toBe(2);
    const counter = new TokenCounter();
    for (const byte of encoder.encode('\ufeffx')) counter.push(Uint8Array.of(byte));
    expect(counter.end()).toBe(2);
  });

  it('counts a character cut off by the end of the file', () => {
    expect(countOf(encoder.encode('é').subarray(0, 1))).toBe(countTokens('\ufffd'));
  });

  it('keeps nothing of a chunk whose buffer the reader uses again', () => {
    const counter = new TokenCounter();
    const reused = Buffer.alloc(4);
    for (let at = 0, whole = encoder.encode('中文字符'); at < whole.length; at += 4) {
      reused.set(whole.subarray(at, at + 4));
      counter.push(reused.subarray(0, Math.min(4, whole.length - at)));
    }
    expect(counter.end()).toBe(countTokens('中文字符'));
  });

  it('carries nothing over from one text to the next', () => {
    const counter = new TokenCounter();
    counter.push(Uint8Array.of(0xef, 0xbb, 0xbf, 0x0a, 0xff, 0xe2));
    counter.end();
    counter.push(encoder.encode('a'));
    expect(counter.end()).toBe(1);
    expect(counter.end()).toBe(0);
  });

  it('keeps surrogate pairs together wherever a long text is sliced', () => {
    for (const lead of ['', 'x']) {
      const whole = lead + '😀'.repeat(40_000);
      expect(countTokens(whole)).toBe(countIn(new TokenCounter(), encoder.encode(whole), [16_384, 3]));
    }
  });
});

/** Some 300 KB in which no two stretches are alike, so that a cut in the wrong place shows. */
function longText(): string {
  const lines = Array.from({ length: 6000 }, (_, i) => {
    const indent = ' '.repeat(i % 40);
    return `${indent}const value${i} = call(${i * 7919}, 'it${"'"}s naïve 中文${i}'); // ${'-'.repeat(i % 97)}\n`;
  });
  return lines.join('');
}
