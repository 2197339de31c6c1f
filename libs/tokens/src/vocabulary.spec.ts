import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { ENCODINGS, tokenizerId } from './index.js';
import { readRanks } from './ranks.js';
import { hashStep, NO_RANK, type Vocabulary, vocabularyOf } from './vocabulary.js';

const require = createRequire(import.meta.url);

function rankOf(vocabulary: Vocabulary, token: Uint8Array): number {
  const hash = token.reduce(hashStep, 0);
  return vocabulary.find(token, 0, token.length, hash);
}

describe.each(ENCODINGS)('the vocabulary of %s', (encoding) => {
  const module = require(`gpt-tokenizer/bpeRanks/${encoding}`) as { default: (string | number[])[] };
  const tokens = module.default.map((token) => Buffer.from(token as string));

  it("gives every token the rank that gpt-tokenizer's own module gives it", () => {
    const vocabulary = vocabularyOf(encoding);
    expect(tokens.filter((token, rank) => rankOf(vocabulary, token) !== rank)).toEqual([]);
    expect(vocabulary.size).toBe(tokens.length);
  });

  it('knows no other bytes', () => {
    const vocabulary = vocabularyOf(encoding);
    const known = new Set(tokens.map((token) => token.toString('latin1')));
    const strangers = tokens.slice(0, 20_000).map((token) => Buffer.concat([token, Buffer.from('\0~')]));
    const missing = strangers.filter((token) => !known.has(token.toString('latin1')));
    expect(missing.length).toBeGreaterThan(19_000);
    expect(missing.filter((token) => rankOf(vocabulary, token) !== NO_RANK)).toEqual([]);
  });

  it('is loaded once a thread', () => {
    expect(vocabularyOf(encoding)).toBe(vocabularyOf(encoding));
  });

  it('has ranks and a longest token that fit the keys of a merge', () => {
    expect(vocabularyOf(encoding).size).toBeLessThan(2 ** 18);
    expect(vocabularyOf(encoding).longestToken).toBe(
      tokens.reduce((longest, token) => Math.max(longest, token.length), 0),
    );
  });
});

describe('readRanks', () => {
  it('reads tokens in order of rank', () => {
    const { bytes, offsets, longest } = readRanks(Buffer.from('YQ== 0\n/w== 1\nIHRoZQ== 2\n'));
    expect([...bytes]).toEqual([0x61, 0xff, 0x20, 0x74, 0x68, 0x65]);
    expect([...offsets]).toEqual([0, 1, 2, 6]);
    expect(longest).toBe(4);
  });

  it.each(['YQ== 1\n', 'YQ==\n', 'YQ== 0\nYg== 2\n', 'YQ== x\n'])('refuses %j', (file) => {
    expect(() => readRanks(Buffer.from(file))).toThrow(/rank \d is missing/);
  });
});

describe('tokenizerId', () => {
  it('names the installed ranks, the encoding and the version of the counter', () => {
    const { version } = require('gpt-tokenizer/package.json') as { version: string };
    expect(tokenizerId()).toBe(`gpt-tokenizer@${version}/o200k_base+millrace.1`);
    expect(tokenizerId('cl100k_base')).toBe(`gpt-tokenizer@${version}/cl100k_base+millrace.1`);
  });
});
