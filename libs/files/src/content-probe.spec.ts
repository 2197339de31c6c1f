import { describe, expect, it } from '@jest/globals';
import { isBinary, PROBE_BYTES } from './content-probe.js';

describe('isBinary', () => {
  it.each([
    ['nothing', ''],
    ['ASCII', 'const a = 1;\n'],
    ['UTF-8', 'Grüße, 世界, 😀'],
    ['a byte-order mark', '\uFEFFtext'],
    ['a genuine replacement character', 'a \uFFFD b'],
  ])('calls %s text', (_, text) => {
    expect(isBinary(Buffer.from(text))).toBe(false);
  });

  it('calls anything with a NUL in its start binary, UTF-16 included', () => {
    expect(isBinary(Buffer.from('ELF\0\x01'))).toBe(true);
    expect(isBinary(Buffer.from('hello', 'utf16le'))).toBe(true);
  });

  it('looks no further than its probe', () => {
    expect(isBinary(Buffer.concat([Buffer.alloc(PROBE_BYTES, 'a'), Buffer.from([0])]))).toBe(false);
    expect(isBinary(Buffer.concat([Buffer.alloc(PROBE_BYTES - 1, 'a'), Buffer.from([0])]))).toBe(true);
  });

  it('calls Latin-1 prose text and text in another 8-bit alphabet binary', () => {
    expect(
      isBinary(Buffer.from('Das Mädchen läuft über die Brücke und trägt Äpfel nach Köln.', 'latin1')),
    ).toBe(false);
    expect(isBinary(Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x20, 0xec, 0xe8, 0xf0]))).toBe(true);
  });

  it('does not hold a character that the probe cuts against the file', () => {
    const text = Buffer.from(`${'a'.repeat(PROBE_BYTES - 1)}€`);
    expect(isBinary(text)).toBe(false);
  });
});
