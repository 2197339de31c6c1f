import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { get_encoding } from 'tiktoken';
import type { EncodingName } from '#tokens';
import {
  EnvelopeMeter,
  formatOf,
  renderBatch,
  shownPath,
  type EnvelopeName,
  type FORMATS,
  type LoadedFile,
} from './index.js';

/** A file of a batch, as the lines of either form hold it. */
interface JsonFile {
  path: string;
  part: number;
  parts: number;
  start: number;
  end: number;
  encoding: 'utf-8' | 'base64';
  content: string;
  tokens: number;
  sha256: string;
}

function loaded(path: string, content: string | Buffer, part = 1, parts = 1): LoadedFile {
  const bytes = Buffer.from(content as string);
  return { path, bytes, file: { tokens: 1, part, parts, start: 0, end: bytes.length, hash: 'h' } };
}

const text = (format: (typeof FORMATS)[number], files: LoadedFile[]): string =>
  Buffer.concat(renderBatch(format, 'b-1', 7, files)).toString();

describe('markdown', () => {
  it('puts a heading and a fence around each file and leaves its bytes alone', () => {
    expect(text('markdown', [loaded('a.ts', 'let a;\n'), loaded('b', 'no newline')])).toBe(
      '# Batch b-1\n\n7 tokens\n\n## a.ts\n\n```\nlet a;\n```\n\n## b\n\n```\nno newline\n```\n\n',
    );
  });

  it('fences a file that holds fences with a longer one', () => {
    expect(text('markdown', [loaded('r.md', '````\nx\n````\n')])).toContain(
      '\n`````\n````\nx\n````\n`````\n',
    );
  });

  it('fences a file with endless backticks with tildes', () => {
    expect(text('markdown', [loaded('r.md', '`'.repeat(10_000))])).toMatch(/\n~~~\n`{10000}\n~~~\n\n$/);
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
    const back = lines.map((line) => JSON.parse(line) as JsonFile);
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

const NASTY = [
  ...[
    '```',
    ']]>',
    '~~~',
    '`'.repeat(500),
    '~'.repeat(500),
    '\n',
    '\r\n',
    '  ',
    '\t',
    '<',
    'a',
    '/',
    '//',
    '7',
  ],
  ...[
    '"',
    '\\',
    '\\n',
    "'s",
    'DON',
    'x]]',
    '\u000c',
    '\u0001',
    '\uFFFF',
    '\u00a0',
    '\u2028',
    'é',
    '汉字',
    '{"',
    '}',
  ],
];
const BAD_BYTES = [Buffer.from([0xff]), Buffer.from([0xe6, 0xb1]), Buffer.from([0xc3])];
const NAMES: readonly EnvelopeName[] = ['markdown', 'xml', 'jsonl', 'json'];
const ENCODED = (['o200k_base', 'cl100k_base'] as const).map((name) => ({
  name,
  tiktoken: get_encoding(name),
}));

const bytesOf = fc
  .array(
    fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'grapheme' }), fc.constantFrom(...BAD_BYTES)),
    {
      minLength: 1,
      maxLength: 30,
    },
  )
  .map((pieces) => Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))))
  .filter((bytes) => bytes.length > 0);
const textOf = fc
  .array(fc.oneof(fc.constantFrom(...NASTY), fc.lorem(), fc.string({ unit: 'grapheme' })), { minLength: 1 })
  .map((pieces) => Buffer.from(pieces.join('')))
  .filter((bytes) => bytes.length > 0);
const partOf = fc.record({
  path: fc.string({ minLength: 1, unit: 'grapheme' }).map((path) => shownPath(path)),
  bytes: fc.oneof(textOf, bytesOf),
  part: fc.integer({ min: 1, max: 400 }),
  parts: fc.integer({ min: 1, max: 400 }),
  id: fc.uuid(),
});

describe('EnvelopeMeter', () => {
  const measured = (
    name: EnvelopeName,
    encoding: EncodingName,
    part: { path: string; bytes: Buffer; part: number; parts: number },
  ) => {
    const hash = createHash('sha256').update(part.bytes).digest('hex');
    const facts = { ...part, start: 0, end: part.bytes.length, hash };
    const cost = new EnvelopeMeter(name, encoding).measure(facts, part.bytes);
    return { ...cost, file: { path: part.path, bytes: part.bytes, file: { ...facts, tokens: cost.tokens } } };
  };

  it.each(NAMES)('tells what each file adds to a batch in %s, by tiktoken, to the token', (name) => {
    fc.assert(
      fc.property(
        fc.array(partOf, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...ENCODED),
        fc.uuid(),
        (parts, { name: encoding, tiktoken }, id) => {
          const count = (bytes: Buffer): number => tiktoken.encode_ordinary(bytes.toString()).length;
          const costs = parts.map((part) => measured(name, encoding, part));
          const sum = costs.reduce((total, { cost }) => total + cost, 0);
          const format = formatOf(name);
          const around = count(Buffer.from(format.open(id, 12_345_678))) + count(Buffer.from(format.close()));
          const written = count(
            Buffer.concat(
              renderBatch(
                name,
                id,
                12_345_678,
                costs.map(({ file }) => file),
              ),
            ),
          );
          // The first file of a request has no comma before it.
          const exact = name === 'json' ? [sum + around, sum + around - 1] : [sum + around];
          expect(exact).toContain(written);
          expect(around).toBeLessThanOrEqual(format.batchTokens);
        },
      ),
      { numRuns: 400 },
    );
  });

  it.each(NAMES)('leaves room for any id and total in %s', (name) => {
    const format = formatOf(name);
    for (const { tiktoken } of ENCODED) {
      const fixed = tiktoken.encode_ordinary(format.open('', 0) + format.close()).length;
      // A byte is a token at most; a total has ten digits at most, three a token.
      if (fixed > 0) expect(fixed + 36 + 4).toBeLessThanOrEqual(format.batchTokens);
    }
  });

  it.each(NAMES)('does not count again in %s what it is told', (name) => {
    const part = {
      path: 'a',
      bytes: Buffer.from('some text\n'.repeat(200)),
      part: 1,
      parts: 1,
      start: 0,
      end: 2_000,
      hash: 'h',
    };
    const meter = new EnvelopeMeter(name, 'o200k_base');
    const { tokens, cost } = meter.measure(part, part.bytes);
    expect(meter.measure(part, part.bytes, { written: tokens + 7 })).toEqual({
      tokens: tokens + 7,
      cost: cost + 7,
    });
  });
});

describe('xml, read by others', () => {
  it.each([
    ['a form feed', 'a\\b\u000c\n', 'a\\\\b\\u000c\n', ' encoding="escaped"'],
    ['plain text', 'a\\b\n', 'a\\b\n', ''],
  ])('holds %s', (_, content, written, attribute) => {
    expect(text('xml', [loaded('f', content)])).toContain(
      `<document path="f"${attribute}><![CDATA[${written}]]>`,
    );
  });

  it('holds bytes that are no UTF-8 in base64', () => {
    const bytes = Buffer.from([0x61, 0xff, 0x0a]);
    expect(text('xml', [loaded('f', bytes)])).toContain(
      `encoding="base64"><![CDATA[${bytes.toString('base64')}]]>`,
    );
  });

  it('has no character that XML 1.0 cannot hold, and gives every text back', () => {
    fc.assert(
      fc.property(textOf, (bytes) => {
        const { written, encoding } = formatOf('xml').body(bytes);
        // eslint-disable-next-line no-control-regex
        expect(written.toString()).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\uFFFE\uFFFF]/);
        const joined = written.toString().replaceAll(']]]]><![CDATA[>', ']]>');
        const back =
          encoding === 'escaped'
            ? joined.replace(/\\(\\|u([0-9a-f]{4}))/g, (_, all: string, code?: string) =>
                code === undefined ? all : String.fromCharCode(Number.parseInt(code, 16)),
              )
            : joined;
        expect(Buffer.from(back)).toEqual(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
