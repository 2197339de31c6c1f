import { describe, expect, it, jest } from '@jest/globals';
import { type EncodingName, ENCODINGS, MAX_PIECE_BYTES } from './index.js';
import { SCANNERS } from './patterns.js';
import { PieceCounter } from './piece-counter.js';
import { SENTINEL, SENTINELS } from './scanner.js';

jest.setTimeout(120_000);

const MEGABYTE = 1_000_000;

/** Counts a text in one buffer and reports the merging work, so that growth is measured without a clock. */
function measure(encoding: EncodingName, text: string): { tokens: number; steps: number } {
  const content = Buffer.from(text);
  const bytes = new Uint8Array(content.length + SENTINELS).fill(SENTINEL);
  bytes.set(content);
  const pieces = new PieceCounter(encoding, 1024);
  const tokens = pieces.countUntil(new DataView(bytes.buffer), bytes, 0, content.length, content.length);
  return { tokens, steps: pieces.merger.steps };
}

let state = 42;
function random(below: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
const many = (count: number, one: () => string) => Array.from({ length: count }, one).join('');

/** A random stretch, repeated at a period that no cut falls into step with. */
function stretch(count: number, one: () => string): string {
  const period = many(50_021, one);
  return period.repeat(Math.ceil(count / 50_021)).slice(0, count);
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const adversaries: [string, (bytes: number) => string][] = [
  ['one letter', (bytes) => 'a'.repeat(bytes)],
  ['random letters', (bytes) => stretch(bytes, () => String.fromCharCode(97 + random(26)))],
  ['CJK without spaces', (bytes) => stretch(bytes / 3, () => String.fromCharCode(0x4e00 + random(0x5000)))],
  ['base64', (bytes) => stretch(bytes, () => BASE64[random(64)]!)],
  ['blanks', (bytes) => ' '.repeat(bytes)],
  ['line breaks', (bytes) => '\r\n'.repeat(bytes / 2)],
  ['blanks that end in one letter', (bytes) => `${' '.repeat(bytes)}x`],
  [
    'a line break before every horizon of blanks',
    (bytes) => `\n${' '.repeat(MAX_PIECE_BYTES)}`.repeat(bytes / 8193),
  ],
  ['capitals after one ideograph', (bytes) => `中${'A'.repeat(bytes)}`],
  ['combining marks', (bytes) => '\u0301'.repeat(bytes / 2)],
  ['one symbol', (bytes) => '='.repeat(bytes)],
];

describe.each(adversaries)('on %s', (_, text) => {
  it.each(ENCODINGS)('the work of %s grows as the text does', (encoding) => {
    const small = measure(encoding, text(MEGABYTE / 16));
    const large = measure(encoding, text(MEGABYTE / 2));
    expect(large.steps / Math.max(small.steps, MAX_PIECE_BYTES)).toBeLessThan(16);
    expect(large.tokens / small.tokens).toBeGreaterThan(7);
    expect(large.tokens / small.tokens).toBeLessThan(9);
  });
});

describe('megabytes', () => {
  it.each(adversaries.slice(0, 4))(
    'of %s are counted with bounded work a byte',
    (_, text) => {
      const size = (process.env.MILLRACE_TORTURE === 'full' ? 10 : 2) * MEGABYTE;
      const { tokens, steps } = measure('o200k_base', text(size));
      expect(steps / size).toBeLessThan(64);
      expect(tokens).toBeGreaterThan(size / 16);
      expect(tokens).toBeLessThanOrEqual(size);
    },
    120_000,
  );
});

describe('inside a run that is cut', () => {
  it.each([
    ['o200k_base', SCANNERS.o200k_base],
    ['cl100k_base', SCANNERS.cl100k_base],
  ] as const)('%s asks the ASCII scanner, which runs to the end of a run, only once', (encoding, scanner) => {
    const asked = jest.spyOn(scanner, 'asciiPieceEnd');
    measure(encoding, 'a'.repeat(20 * MAX_PIECE_BYTES));
    expect(asked.mock.calls.length).toBe(1);
    asked.mockRestore();
  });
});
