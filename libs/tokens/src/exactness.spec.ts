import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type * as GptTokenizer from 'gpt-tokenizer/encoding/o200k_base';
import type * as TikToken from 'tiktoken';
import { countTokens, type EncodingName, ENCODINGS, MAX_PIECE_BYTES } from './index.js';

jest.setTimeout(120_000);

// Required, not imported: the peers' CommonJS builds load their data without Jest's module transform.
const require = createRequire(import.meta.url);
const { get_encoding: getEncoding } = require('tiktoken') as typeof TikToken;
const tiktoken = {
  o200k_base: getEncoding('o200k_base'),
  cl100k_base: getEncoding('cl100k_base'),
};
const gptTokenizer = {
  o200k_base: require('gpt-tokenizer/encoding/o200k_base') as typeof GptTokenizer,
  cl100k_base: require('gpt-tokenizer/encoding/cl100k_base') as typeof GptTokenizer,
};

afterAll(() => Object.values(tiktoken).forEach((encoding) => encoding.free()));

const byTiktoken = (text: string, encoding: EncodingName) => tiktoken[encoding].encode(text, [], []).length;
const byGptTokenizer = (text: string, encoding: EncodingName) =>
  gptTokenizer[encoding].countTokens(text, { disallowedSpecial: new Set() });

/**
 * Where gpt-tokenizer leaves the definition: U+FEFF and U+0085 (JavaScript's \s is not Unicode's), and the long s after an
 * apostrophe (its pattern lists letters instead of ignoring case).
 */
const peersDisagreeOn = (text: string) => /[\ufeff\u0085]|'\u017f/.test(text);

// Scripts and classes settled long before the Unicode version that tiktoken was built with.
const SETTLED = [
  [0x00, 0x24f],
  [0x300, 0x36f],
  [0x391, 0x3a1],
  [0x400, 0x45f],
  [0x5d0, 0x5ea],
  [0x621, 0x669],
  [0x905, 0x939],
  [0x93e, 0x94d],
  [0xe01, 0xe3a],
  [0x1e00, 0x1eff],
  [0x2000, 0x2064],
  [0x2150, 0x2188],
  [0x2190, 0x23f3],
  [0x3000, 0x30ff],
  [0x4e00, 0x9fa5],
  [0xac00, 0xd7a3],
  [0xfe00, 0xfe0f],
  [0xff01, 0xff5e],
  [0x10400, 0x1044f],
  [0x1d400, 0x1d454],
  [0x1d7ce, 0x1d7ff],
  [0x1f300, 0x1f64f],
] as const;

const FRAGMENTS = [
  ...[
    "'s",
    "'S",
    "'T",
    "'ll",
    "'LL",
    "'lL",
    "'Ve",
    "'RE",
    "'m",
    "'D",
    "'\u017f",
    "'K",
    "''",
    "'x",
    "'l",
    "'v",
  ],
  ...[
    ' ',
    '  ',
    '   ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\n\n',
    ' \n ',
    '\v',
    '\f',
    '\u00a0',
    '\u3000',
    '\u2028',
    '\u0085',
  ],
  ...[
    '/',
    '//',
    ';\n/',
    '}\n\n/**',
    '(',
    ');',
    '=>',
    '---',
    '_',
    '#',
    '\0',
    '<|endoftext|>',
    '<|fim_prefix|>',
  ],
  ...['1', '12', '1234', '3.14', '\u0663', '\u2167', '\u00bd', '\u{1d7d8}', '0x1F'],
  ...[
    'a',
    'Z',
    'the',
    ' The',
    'camelCase',
    'HTTPServer',
    'don',
    '\u017f',
    '\u212a',
    '\u0130',
    '\u01c5',
    '\u02b0',
  ],
  ...['\u0301', '\u0903', 'e\u0301', '\u4e2d\u6587', '\u4e2dA', '\u3042', '\ud55c', '\u05d0', '\u0628'],
  ...[
    '\u{1f600}',
    '\u{1f469}\u200d\u{1f467}',
    '\u{1f1e9}\u{1f1ea}',
    '\u2764\ufe0f',
    '\ufeff',
    '\ud800',
    '\udc00',
  ],
];

const settledCharacter = fc
  .constantFrom(...SETTLED)
  .chain(([from, to]) => fc.integer({ min: from, max: to }).map((code) => String.fromCodePoint(code)));
const mixture = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...FRAGMENTS) },
      { weight: 1, arbitrary: settledCharacter },
    ),
    {
      maxLength: 24,
    },
  )
  .map((fragments) => fragments.join(''));
const anyUnicode = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 40 })
  .map((codes) => String.fromCodePoint(...codes));

describe.each(ENCODINGS)('%s', (encoding) => {
  it('counts mixed scripts, marks, spaces and contractions as tiktoken does', () => {
    fc.assert(
      fc.property(mixture, (text) => expect(countTokens(text, encoding)).toBe(byTiktoken(text, encoding))),
      { numRuns: 4000 },
    );
  });

  it('counts mixed scripts, marks, spaces and contractions as gpt-tokenizer does', () => {
    fc.assert(
      fc.property(mixture, (text) => {
        fc.pre(!peersDisagreeOn(text));
        expect(countTokens(text, encoding)).toBe(byGptTokenizer(text, encoding));
      }),
      { numRuns: 2000 },
    );
  });

  it('counts any code points, unassigned ones and lone surrogates included, as gpt-tokenizer does', () => {
    fc.assert(
      fc.property(anyUnicode, (text) => {
        fc.pre(!peersDisagreeOn(text));
        expect(countTokens(text, encoding)).toBe(byGptTokenizer(text, encoding));
      }),
      { numRuns: 2000 },
    );
  });

  it('counts every character of the basic plane between letters as gpt-tokenizer does', () => {
    const wrong: string[] = [];
    for (let page = 0; page < 0x10000; page += 16) {
      const text = Array.from({ length: 16 }, (_, i) => `x${String.fromCharCode(page + i)}y`).join(' ');
      if (peersDisagreeOn(text)) continue;
      if (countTokens(text, encoding) !== byGptTokenizer(text, encoding)) wrong.push(page.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['nothing', '', 0],
    ['one letter', 'a', 1],
    ['a byte-order mark, which is kept', '\ufeffhello', 2],
    ['a next-line character, which is white space', 'a\u0085 \u0085b', 7],
  ])('counts %s', (_, text, tokens) => {
    expect(countTokens(text, encoding)).toBe(tokens);
    expect(byTiktoken(text, encoding)).toBe(tokens);
  });

  it('counts special tokens as ordinary text', () => {
    const text = 'before <|endoftext|> after <|fim_prefix|><|endofprompt|>';
    expect(countTokens(text, encoding)).toBe(byTiktoken(text, encoding));
    expect(countTokens('<|endoftext|>', encoding)).toBeGreaterThan(1);
  });

  it('counts a lone surrogate as the replacement character', () => {
    expect(countTokens('a\ud800b', encoding)).toBe(countTokens('a\ufffdb', encoding));
    expect(countTokens('a\ud800b', encoding)).toBe(byTiktoken('a\ud800b', encoding));
  });

  it.each(['s', 'S', 't', 're', 'RE', 'vE', 'm', 'LL', 'd', '\u017f', 'l', 'v', 'r', 'x', ''])(
    "splits a word before or after the suffix '%s as the peers do",
    (suffix) => {
      for (const text of [
        `it'${suffix}`,
        `IT'${suffix}x`,
        ` '${suffix} '${suffix}'${suffix}`,
        `\u0301'${suffix}`,
      ]) {
        expect([text, countTokens(text, encoding)]).toEqual([text, byTiktoken(text, encoding)]);
      }
    },
  );

  it('merges a run as long as a piece may be as the peers do', () => {
    const letters = lettersFrom(11, MAX_PIECE_BYTES);
    for (const length of [16, 17, 47, 48, 49, 127, 128, 129, 1000, MAX_PIECE_BYTES - 5, MAX_PIECE_BYTES]) {
      const text = letters.slice(0, length);
      expect([length, countTokens(text, encoding)]).toEqual([length, byTiktoken(text, encoding)]);
    }
  });

  it('counts a longer run a token a cut above the peers at most, and never below', () => {
    const run = lettersFrom(5, 3 * MAX_PIECE_BYTES);
    const added = countTokens(run, encoding) - byTiktoken(run, encoding);
    expect(added).toBeGreaterThanOrEqual(0);
    expect(added).toBeLessThanOrEqual(2);
  });

  it('counts real files as both peers do', () => {
    const wrong = sampleFiles().filter(({ text }) => {
      const tokens = countTokens(text, encoding);
      return (
        tokens !== byTiktoken(text, encoding) ||
        (!peersDisagreeOn(text) && tokens !== byGptTokenizer(text, encoding))
      );
    });
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});

function lettersFrom(seed: number, count: number): string {
  let state = seed;
  const letter = () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return String.fromCharCode(97 + Math.floor((state / 2 ** 32) * 26));
  };
  return Array.from({ length: count }, letter).join('');
}

/** A few files of every kind from the installed packages, small enough for the peers to count quickly. */
function sampleFiles(): { path: string; text: string }[] {
  const packages = new URL('../../../node_modules', import.meta.url).pathname;
  const files: { path: string; text: string }[] = [];
  for (const name of readdirSync(packages).filter((entry) => !/^[.@]/.test(entry))) {
    const kinds = readdirSync(join(packages, name)).filter((file) => /\.(js|md|json|ts)$/.test(file));
    for (const file of kinds.slice(0, 2)) {
      const path = join(packages, name, file);
      const text = readFileSync(path, 'utf8');
      if (text.length < 40_000) files.push({ path, text });
    }
    if (files.length >= 300) break;
  }
  expect(files.length).toBeGreaterThan(100);
  return files;
}
