import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { get_encoding, type Tiktoken } from 'tiktoken';
import {
  allowanceTokens,
  BATCH_ALLOWANCE_TOKENS,
  type FORMATS,
  type jsonFile,
  renderBatch,
  shownPath,
  type LoadedFile,
} from './index.js';

function loaded(path: string, content: string | Buffer, part = 1, parts = 1): LoadedFile {
  const bytes = Buffer.from(content as string);
  return { path, bytes, file: { tokens: 1, part, parts, start: 0, end: bytes.length, hash: 'h' } };
}

const text = (format: (typeof FORMATS)[number], files: LoadedFile[]): string =>
  Buffer.concat(renderBatch(format, 'b-1', 7, files)).toString();

describe('markdown', () => {
  it('puts a heading and a fence around each file and leaves its bytes alone', () => {
    expect(text('markdown', [loaded('a.ts', 'let a;\n'), loaded('b', 'no newline')])).toBe(
      '# Batch b-1\n\n7 tokens\n\n## a.ts\n\n```\nlet a;\n```\n\n## b\n\n```\nno newline\n```\n',
    );
  });

  it('fences a file that holds fences with a longer one', () => {
    expect(text('markdown', [loaded('r.md', '````\nx\n````\n')])).toContain(
      '\n`````\n````\nx\n````\n`````\n',
    );
  });

  it('fences a file with endless backticks with tildes', () => {
    expect(text('markdown', [loaded('r.md', '`'.repeat(10_000))])).toMatch(/\n~~~\n`{10000}\n~~~\n$/);
  });

  it('names the part of a split file', () => {
    expect(text('markdown', [loaded('big.log', 'x', 2, 3)])).toContain('## big.log (part 2 of 3)');
  });

  it('does not let a name forge a heading', () => {
    expect(text('markdown', [loaded(shownPath('a\n## forged'), 'x')])).not.toContain('\n## forged');
  });
});

describe('xml', () => {
  it('keeps the end of CDATA inside a file from ending the document', () => {
    expect(text('xml', [loaded('a&"b"', 'x]]>y')])).toBe(
      '<batch id="b-1" tokens="7">\n<document path="a&amp;&quot;b&quot;"><![CDATA[x]]]]><![CDATA[>y]]></document>\n</batch>\n',
    );
  });
});

describe('jsonl', () => {
  it('gives one object a file, from which the very bytes come back, UTF-8 or not', () => {
    const contents = [Buffer.from('ü\n"'), Buffer.from([0xff, 0xfe, 0x0a])];
    const lines = text(
      'jsonl',
      contents.map((bytes, index) => loaded(`f${index}`, bytes)),
    )
      .trimEnd()
      .split('\n');
    const back = lines.map((line) => JSON.parse(line) as ReturnType<typeof jsonFile>);
    expect(back.map(({ content, encoding }) => Buffer.from(content, encoding))).toEqual(contents);
    expect(back.map(({ encoding }) => encoding)).toEqual(['utf-8', 'base64']);
  });
});

describe('shownPath', () => {
  it('is relative inside the base and whole outside', () => {
    expect([
      shownPath('/r/a/b', '/r'),
      shownPath('/q/a', '/r'),
      shownPath('/r', '/r'),
      shownPath('/r2', '/r'),
    ]).toEqual(['a/b', '/q/a', '/r', '/r2']);
  });
});

describe('allowanceTokens', () => {
  const encodings: Tiktoken[] = [get_encoding('o200k_base'), get_encoding('cl100k_base')];

  it('covers what stands around the files: a batch that fits by its parts fits as one text', () => {
    const bits = ['```', ']]>', '~~~', '`'.repeat(500), '~'.repeat(500), '\n', '  ', '<', 'a'];
    const nasty = fc.array(fc.constantFrom(...bits)).map((all) => all.join(''));
    const file = fc.record({
      path: fc.string({ minLength: 1, unit: 'grapheme' }),
      content: fc.oneof(fc.string({ unit: 'grapheme' }), nasty),
    });
    fc.assert(
      fc.property(
        fc.array(file, { minLength: 1, maxLength: 8 }),
        fc.constantFrom(...encodings),
        (files, encoding) => {
          const count = (words: string): number => encoding.encode(words, [], []).length;
          const budget = files.reduce(
            (sum, { path, content }) =>
              sum + count(content) + allowanceTokens(path, count, content.split(']]>').length - 1),
            BATCH_ALLOWANCE_TOKENS,
          );
          const parts = files.map(({ path, content }) => loaded(shownPath(path), content, 12, 345));
          return (['markdown', 'xml'] as const).every((format) => count(text(format, parts)) <= budget);
        },
      ),
      { numRuns: 300 },
    );
  });
});
