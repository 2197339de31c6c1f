import { describe, expect, it } from '@jest/globals';
import * as database from '#database';
import fc from 'fast-check';
import { nameKey, pathKey } from './path-key.js';
import { entryPath, fsPath, joinPath, pathBytes, pathText } from './path-text.js';

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

describe('keys made on threads', () => {
  it('are those of the database, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (raw) => {
        const name = Buffer.from(raw);
        expect(pathKey(name)).toBe(database.pathKey(name));
        expect(nameKey(name)).toBe(database.nameKey(name));
      }),
    );
  });
});
