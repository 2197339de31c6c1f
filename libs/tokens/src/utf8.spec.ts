import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { repairUtf8, Utf8Intake } from './utf8.js';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
// Bytes at the edges of what may follow what, so that random strings come close to being well-formed.
const EDGES = [
  0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
];
const LEADS = [0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff];
const bytes = fc
  .array(fc.constantFrom(...EDGES, ...LEADS), { maxLength: 24 })
  .map((values) => Uint8Array.from(values));

describe('repairUtf8', () => {
  it('replaces what TextDecoder replaces', () => {
    fc.assert(
      fc.property(bytes, (input) => {
        expect(Buffer.from(repairUtf8(input).bytes).toString()).toBe(decoder.decode(input));
      }),
      { numRuns: 5000 },
    );
  });

  it('tells how many bytes each replacement added', () => {
    fc.assert(
      fc.property(bytes, (input) => {
        const { bytes: repaired, repairs } = repairUtf8(input);
        const surplus = repairs.filter((_, i) => i % 2 === 1).reduce((sum, more) => sum + more, 0);
        expect(repaired.length - surplus).toBe(input.length);
      }),
    );
  });

  it('changes nothing in well-formed bytes', () => {
    const input = Buffer.from('a\0é中😀\ufeff\u{10ffff}\ud7ff\ue000');
    expect(repairUtf8(input)).toEqual({ bytes: Uint8Array.from(input), repairs: [] });
  });
});

describe('Utf8Intake', () => {
  it('passes the same characters on whatever the chunks, and none of them torn', () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (input, sizes) => {
        const passed: string[] = [];
        const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
        const intake = new Utf8Intake((chunk) => passed.push(strict.decode(chunk)));
        for (let at = 0, turn = 0; at < input.length; at += sizes[turn++ % sizes.length]!) {
          intake.push(input.subarray(at, at + sizes[turn % sizes.length]!));
        }
        intake.end();
        expect(passed.join('')).toBe(decoder.decode(input));
      }),
      { numRuns: 5000 },
    );
  });
});
