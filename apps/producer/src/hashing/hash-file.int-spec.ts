import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pathText, type FilePlace } from '#files';
import { tempFolder, type TempFolder } from '#testing';
import { CHUNK_BYTES, hashFile, type HashAlgorithm, type HashOutcome } from './hash-file.js';

let folder: TempFolder;
beforeEach(async () => {
  folder = await tempFolder('hash');
});
afterEach(() => folder.remove());

const at = (name: string): Buffer => Buffer.from(join(folder.path, name));

function placeOf(path: Buffer): FilePlace {
  return { root: { text: folder.path, bytes: null }, path: pathText(path), followLinks: false };
}

function hash(name: string, algorithm: HashAlgorithm = 'sha256', checkpoint = () => {}): HashOutcome {
  return hashFile(placeOf(at(name)), algorithm, { checkpoint, buffer: Buffer.alloc(CHUNK_BYTES) });
}

describe('hashing a file', () => {
  it.each(['sha256', 'sha512', 'sha3-256'] as const)('gives its %s in hex', (algorithm) => {
    const content = Buffer.from('millrace '.repeat(50_000));
    writeFileSync(at('a'), content);
    expect(hash('a', algorithm)).toMatchObject({
      state: 'hashed',
      hash: createHash(algorithm).update(content).digest('hex'),
      stat: { size: content.length },
    });
  });

  it('hashes nothing to the hash of nothing', () => {
    writeFileSync(at('empty'), '');
    expect(hash('empty')).toMatchObject({ hash: createHash('sha256').digest('hex') });
  });

  it('looks whether it should go on before every 64 KB', () => {
    writeFileSync(at('a'), Buffer.alloc(CHUNK_BYTES * 5));
    let looks = 0;
    hash('a', 'sha256', () => looks++);
    expect(looks).toBe(5);
    const stop = (): never => {
      throw new Error('given up');
    };
    expect(() => hash('a', 'sha256', stop)).toThrow('given up');
  });

  it('reads again what grew while it was read, and hashes what it is in the end', () => {
    writeFileSync(at('a'), Buffer.alloc(CHUNK_BYTES * 3));
    let looks = 0;
    const outcome = hash('a', 'sha256', () => {
      if (++looks === 2) appendFileSync(at('a'), 'more');
    });
    const content = Buffer.concat([Buffer.alloc(CHUNK_BYTES * 3), Buffer.from('more')]);
    expect(outcome).toMatchObject({
      hash: createHash('sha256').update(content).digest('hex'),
      stat: { size: content.length },
    });
  });

  it('gives up on what grows as fast as it is read, and says so', () => {
    writeFileSync(at('a'), Buffer.alloc(CHUNK_BYTES * 2));
    expect(hash('a', 'sha256', () => appendFileSync(at('a'), 'x'))).toEqual({ state: 'changing' });
  });

  it('tells a file that is gone from one whose folder is away', () => {
    expect(hash('none')).toEqual({ state: 'gone' });
    expect(hash('away/none')).toMatchObject({ state: 'failed', error: 'ENOENT' });
  });

  it('never hangs on a FIFO, never follows a link, never reads a folder', () => {
    execFileSync('mkfifo', [at('pipe').toString()]);
    writeFileSync(at('real'), 'x');
    symlinkSync('real', at('link'));
    mkdirSync(at('dir'));
    expect(hash('pipe')).toMatchObject({ state: 'failed', error: 'ENOTREG' });
    expect(hash('link')).toMatchObject({ state: 'failed', error: 'ELOOP' });
    expect(hash('dir')).toMatchObject({ state: 'failed', error: 'ENOTREG' });
  });

  it('reports a name that is not UTF-8 by its bytes', () => {
    const path = Buffer.concat([at('x'), Buffer.from([0xff])]);
    writeFileSync(path, 'odd');
    const outcome = hashFile(placeOf(path), 'sha256', {
      checkpoint: () => {},
      buffer: Buffer.alloc(CHUNK_BYTES),
    });
    expect(outcome).toMatchObject({ hash: createHash('sha256').update('odd').digest('hex') });
    chmodSync(path, 0o600);
  });
});
