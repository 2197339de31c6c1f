import { describe, expect, it } from '@jest/globals';
import { followedRules } from './rule-chain.js';

describe('lines of an ignore file', () => {
  it('are followed as they are where matching them is cheap', () => {
    const text =
      '# a/**/b/**/c/**/d/**/e\n*.log\n!keep.log\n/build/\n**/node_modules/**/dist/**\na-*-*-*.txt\n';
    expect(followedRules(text)).toEqual({ text, refused: [] });
  });

  it('are refused, with their numbers, where it could take for ever', () => {
    const hostile = `${'a/**/'.repeat(8)}b`;
    expect(followedRules(`*.log\n${hostile}\n!*a*a*a*a*a*b\n`)).toEqual({
      text: '*.log\n\n\n',
      refused: [
        { line: 2, pattern: hostile },
        { line: 3, pattern: '!*a*a*a*a*a*b' },
      ],
    });
  });
});
