import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { get_encoding, type Tiktoken } from 'tiktoken';
import { formatOf, renderBatch, type EnvelopeName } from '#envelope';
import { pathText, type FilePlace } from '#files';
import { countTokens } from '#tokens';
import { tempFolder, type TempFolder } from '#testing';
import { FileCounter } from './file-counter.js';
import type { Part, ReadOutcome, ReadSettings, TextOutcome } from './read-outcome.js';

const SETTINGS: ReadSettings = {
  encoding: 'o200k_base',
  format: 'markdown',
  maxTokens: 100_000,
  maxFileBytes: 50_000_000,
};
const NAMES: readonly EnvelopeName[] = ['markdown', 'xml', 'jsonl', 'json'];
const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

describe('FileCounter', () => {
  let folder: TempFolder;
  let tiktoken: Tiktoken;
  beforeAll(async () => {
    folder = await tempFolder('counter');
    tiktoken = get_encoding('o200k_base');
  });
  afterAll(async () => {
    tiktoken.free();
    await folder.remove();
  });

  const at = (name: string): string => join(folder.path, name);
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(at(name), content);
    return at(name);
  };
  const refOf = (path: string | Buffer): FilePlace => ({
    root: { text: folder.path, bytes: null },
    path: pathText(path),
    followLinks: false,
  });
  const read = (
    path: string,
    settings: Partial<ReadSettings> = {},
    ref: Partial<FilePlace> = {},
  ): ReadOutcome => new FileCounter({ ...SETTINGS, ...settings }).read({ ...refOf(path), ...ref });
  const readText = (path: string, settings: Partial<ReadSettings> = {}): TextOutcome => {
    const outcome = read(path, settings);
    if (outcome.kind !== 'text') throw new Error(`expected text, got ${JSON.stringify(outcome)}`);
    return outcome;
  };

  it('reads a file once for its tokens, hash and size', () => {
    const text = 'export const answer = 42;\n';
    const outcome = readText(write('plain.ts', text));
    expect(outcome.tokens).toBe(countTokens(text));
    expect(outcome.facts).toMatchObject({ size: text.length, hash: sha256(text) });
    expect(outcome.parts).toEqual([
      { start: 0, end: text.length, tokens: outcome.tokens, cost: expect.any(Number), hash: sha256(text) },
    ]);
    expect(outcome.parts[0]?.cost).toBeGreaterThan(outcome.tokens);
  });

  it.each([
    ['an empty file', 'empty', '', 'empty'],
    ['a file with a NUL', 'nul.bin', 'ELF\0', 'binary'],
    ['a file that is mostly no UTF-8', 'koi8', Buffer.alloc(100, 0xc1), 'binary'],
  ])('skips %s', (_, name, content, reason) => {
    expect(read(write(name, content))).toMatchObject({ kind: 'skipped', reason });
  });

  it('skips what is gone from a folder that is there', () => {
    expect(read(at('missing'))).toEqual({ kind: 'skipped', reason: 'vanished', error: 'ENOENT' });
  });

  it('says nothing of a file whose folder is away, or whose mount point is empty on another device', () => {
    expect(read(at('away/file'))).toEqual({ kind: 'away', error: 'ENOENT' });
    expect(read(join(write('file', 'x'), 'below'))).toEqual({ kind: 'away', error: 'ENOTDIR' });
    mkdirSync(at('mount'));
    const before = { folderIdentity: '0:2' };
    expect(read(at('mount/file'), {}, before)).toEqual({ kind: 'away', error: 'ENOENT' });
    write('mount/other', 'x');
    expect(read(at('mount/file'), {}, before)).toMatchObject({ kind: 'skipped', reason: 'vanished' });
  });

  it('skips a file whose folder became a link, as outside its root', () => {
    mkdirSync(at('elsewhere'));
    write('elsewhere/file', 'of another place');
    symlinkSync('elsewhere', at('swapped'));
    expect(read(at('swapped/file'))).toEqual({ kind: 'skipped', reason: 'outside-root', error: 'EOUTSIDE' });
  });

  it('skips what it may not read, with the error', () => {
    const path = write('secret', 'x');
    chmodSync(path, 0o000);
    chmodSync(folder.path, 0o755);
    const root = process.getuid?.() === 0;
    // Root may read anything, so be nobody for the moment of this synchronous call.
    if (root) process.seteuid?.(65_534);
    try {
      expect(read(path)).toEqual({ kind: 'skipped', reason: 'unreadable', error: 'EACCES' });
    } finally {
      if (root) process.seteuid?.(0);
    }
  });

  it('does not follow a link, read a folder or wait for a FIFO', () => {
    symlinkSync(write('target', 'x'), at('link'));
    mkdirSync(at('folder'));
    execFileSync('mkfifo', [at('fifo')]);
    for (const name of ['link', 'folder', 'fifo'])
      expect(read(at(name))).toMatchObject({ kind: 'skipped', reason: 'not-a-file' });
  });

  it('skips a sparse file of 2 GB by its size, without reading it', () => {
    const path = write('huge', '');
    truncateSync(path, 2 ** 31);
    expect(read(path)).toEqual({ kind: 'skipped', reason: 'too-large', error: '2147483648 bytes' });
    expect(read(path, { maxFileBytes: 2 ** 32 })).toMatchObject({ kind: 'skipped', reason: 'binary' });
  });

  it('counts special tokens, a byte-order mark and some bytes that are no UTF-8 as text', () => {
    expect(readText(write('special', 'a <|endoftext|> b')).tokens).toBe(countTokens('a <|endoftext|> b'));
    expect(readText(write('bom', '\uFEFFtext')).tokens).toBe(countTokens('\uFEFFtext'));
    const mixed = Buffer.concat([
      Buffer.from('mostly text '),
      Buffer.from([0xff]),
      Buffer.from(' with one bad byte'),
    ]);
    expect(readText(write('mixed', mixed)).tokens).toBe(countTokens(mixed.toString()));
  });

  it('reads a file by the bytes of its name when that is no UTF-8', () => {
    const path = Buffer.concat([Buffer.from(`${folder.path}/bad-`), Buffer.from([0xff, 0xfe])]);
    writeFileSync(path, 'found');
    const outcome = read('', {}, refOf(path));
    expect(outcome).toMatchObject({ kind: 'text', facts: { hash: sha256('found') } });
  });

  it('reports what was really read of a file that changes once meanwhile', () => {
    const path = write('changes', 'before');
    let reads = 0;
    const counter = new FileCounter(SETTINGS, () => {
      if (reads++ === 0) appendFileSync(path, ' and after');
    });
    expect(counter.read(refOf(path))).toMatchObject({
      kind: 'text',
      facts: { size: 16, hash: sha256('before and after') },
    });
  });

  it('says so when a file changes at each reading', () => {
    const path = write('restless', 'x');
    const counter = new FileCounter(SETTINGS, () => appendFileSync(path, 'more'));
    expect(counter.read(refOf(path))).toEqual({ kind: 'changed' });
  });

  it('is not confused by a file that it failed to read half-way', () => {
    const path = write('large', 'word '.repeat(600_000));
    const small = write('small', 'one two three');
    let reads = 0;
    const counter = new FileCounter(SETTINGS, () => {
      if (++reads === 2) throw new Error('given up');
    });
    expect(() => counter.read(refOf(path))).toThrow('given up');
    expect(counter.read(refOf(small))).toMatchObject({ tokens: countTokens('one two three') });
  });

  const lines = (count: number): string =>
    Array.from({ length: count }, (_, n) => `line ${n}: the quick brown fox jumps over the lazy dog\n`).join(
      '',
    );
  // Divided where fewer parts will do.
  const oversize: [string, (by?: number) => string | Buffer][] = [
    ['lines', (by = 1) => lines(4_000 / by)],
    ['one long line of words', (by = 1) => 'lorem ipsum dolor '.repeat(12_000 / by)],
    ['one letter', (by = 1) => 'a'.repeat(300_000 / by)],
    ['Chinese without a space', (by = 1) => '汉字符号语言'.repeat(8_000 / by)],
    ['Windows line ends', (by = 1) => lines(2_000 / by).replaceAll('\n', '\r\n')],
    ['quotes and backslashes', (by = 1) => '"\\\\'.repeat(20_000 / by)],
    ['control characters', (by = 1) => 'a\u000c\u0001\n'.repeat(8_000 / by)],
    ['CDATA ends', (by = 1) => ']]>'.repeat(20_000 / by)],
    [
      'bad bytes among the text',
      (by = 1) =>
        Buffer.concat([
          Buffer.from(lines(2_000 / by)),
          Buffer.from([0xff, 0xfe]),
          Buffer.from(lines(2_000 / by)),
        ]),
    ],
  ];

  it.each(oversize)('splits a file larger than the budget: %s', (name, content) => {
    const maxTokens = 5_000;
    const bytes = Buffer.from(content() as string);
    const path = write(`oversize ${name}`, bytes);
    const { parts, facts, tokens } = readText(path, { maxTokens });
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map(({ start }) => start)).toEqual([0, ...parts.slice(0, -1).map(({ end }) => end)]);
    expect(parts.at(-1)?.end).toBe(facts.size);
    expect(tokens).toBe(parts.reduce((sum, part) => sum + part.tokens, 0));
    for (const part of parts) {
      expect(part.hash).toBe(sha256(bytes.subarray(part.start, part.end)));
      expect(part.cost + formatOf('markdown').batchTokens).toBeLessThanOrEqual(maxTokens);
    }
  });

  it('ends the parts of a text at its line ends', () => {
    const bytes = Buffer.from(lines(4_000));
    const { parts } = readText(write('at-lines', bytes), { maxTokens: 5_000 });
    for (const { end } of parts) expect(bytes[end - 1]).toBe(0x0a);
  });

  it.each(NAMES)(
    'leaves room enough that a part fits the budget as written in %s, counted by tiktoken',
    (format) => {
      const maxTokens = 2_000;
      for (const [name, content] of oversize) {
        const bytes = Buffer.from(content(4) as string);
        const path = write(`oversize ${name} in ${format}`, bytes);
        const { parts } = readText(path, { maxTokens, format });
        expect(parts.length).toBeGreaterThan(1);
        // tiktoken is quadratic on the pathological ones, so not all parts.
        for (const part of [parts[0] as Part, parts.at(-1) as Part]) {
          const file = { ...part, part: 1, parts: parts.length };
          const loaded = { file, path, bytes: bytes.subarray(part.start, part.end) };
          const written = Buffer.concat(renderBatch(format, 'b'.repeat(36), maxTokens, [loaded])).toString();
          expect(tiktoken.encode_ordinary(written).length).toBeLessThanOrEqual(maxTokens);
        }
      }
    },
  );

  it('skips a file whose path alone takes the budget', () => {
    const deep = Array.from({ length: 20 }, (_, n) => `${n}${'ünïcödé-'.repeat(12)}`).join('/');
    mkdirSync(at(deep), { recursive: true });
    const path = write(`${deep}/f`, 'word '.repeat(2_000));
    expect(read(path, { maxTokens: 1_000 })).toMatchObject({ kind: 'skipped', reason: 'path-too-long' });
  });
});
