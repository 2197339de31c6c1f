import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { entryPath, fsPath, joinPath, nameKey, pathBytes, pathKey, pathText } from './path.js';

const bytes = (...values: number[]): Buffer => Buffer.from(values);

describe('path text', () => {
  it('shows UTF-8 names as they are and stores no bytes beside them', () => {
    expect(pathText(Buffer.from('/a/ü\n"x"'))).toEqual({ text: '/a/ü\n"x"', bytes: null });
  });

  it('keeps NFC and NFD twins apart', () => {
    expect(pathText(Buffer.from('/\u00e9')).text).not.toBe(pathText(Buffer.from('/e\u0301')).text);
  });

  it('escapes bytes that are not UTF-8 and keeps the exact bytes', () => {
    const path = Buffer.concat([Buffer.from('/a/'), bytes(0xff, 0x62), Buffer.from('ü'), bytes(0xc3)]);
    const text = pathText(path);
    expect(text.text).toBe('/a/\\xffbü\\xc3');
    expect(pathBytes(text).equals(path)).toBe(true);
  });

  it('gives back every path to the byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (raw) => {
        const path = Buffer.from(raw);
        return pathBytes(pathText(path)).equals(path);
      }),
    );
  });

  it('is given to the file system to the byte, as text only where that is the same', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), fc.boolean(), (raw, plain) => {
        const name = Buffer.from(raw.map((byte) => (plain ? 32 + (byte % 95) : byte)));
        for (const folder of ['/', '/a', '/\u00fc'].map((text) => fsPath({ text, bytes: null }))) {
          const path = entryPath(folder, name.toString('latin1'));
          expect(Buffer.from(path)).toEqual(joinPath(Buffer.from(folder), name));
          expect(Buffer.from(fsPath(pathText(path)))).toEqual(Buffer.from(path));
          expect(typeof path).toBe(plain && typeof folder === 'string' ? 'string' : typeof path);
        }
      }),
    );
  });

  it('joins below the file system root without a double slash', () => {
    expect(joinPath(Buffer.from('/'), Buffer.from('a')).toString()).toBe('/a');
    expect(joinPath(Buffer.from('/a'), Buffer.from('b')).toString()).toBe('/a/b');
  });
});

describe('keys of paths', () => {
  it('tell apart names that are not UTF-8 and read the same as text', () => {
    const [one, two] = [Buffer.from([0x61, 0xff]), Buffer.from([0x61, 0xfe])];
    expect(one.toString()).toBe(two.toString());
    expect(nameKey(one)).not.toBe(nameKey(two));
    expect(pathKey(one)).not.toBe(pathKey(two));
  });

  it('are the name itself when it is UTF-8, given as text or as bytes', () => {
    expect(nameKey('ä.txt')).toBe('ä.txt');
    expect(nameKey(Buffer.from('ä.txt'))).toBe('ä.txt');
    expect(pathKey(Buffer.from('/ä'))).toBe(pathKey('/ä'));
  });

  it('of bytes cannot be the name of another file', () => {
    expect(nameKey(Buffer.from([0xff]))).toMatch(/^\//);
  });

  it('are short for a path of any length', () => {
    expect(pathKey('/deep'.repeat(10_000))).toHaveLength(22);
  });
});
