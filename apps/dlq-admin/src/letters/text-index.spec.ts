import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { likePattern, piecesOf, rarePattern } from './text-index.js';

/** What LIKE does, for patterns with the escape character `\`. */
function isLike(text: string, pattern: string): boolean {
  const source = pattern.replace(/\\(.)|%|[^]/gu, (part: string, escaped?: string) =>
    part === '%' ? '[^]*' : `\\u{${(escaped ?? part).codePointAt(0)?.toString(16)}}`,
  );
  return new RegExp(`^${source}$`, 'u').test(text);
}

describe('the pattern by which an index looks a text up', () => {
  it('takes wildcards literally', () => {
    expect(likePattern('50%_a\\b')).toBe('%50\\%\\_a\\\\b%');
  });

  it('leaves common words out', () => {
    const common = new Set(['"id"', '"order-']);
    expect(rarePattern('"id":"order-554330"', common)).toBe('%554330%');
    expect(rarePattern('"id":"order-77"', common)).toBe('%"%":"%-77"%');
  });

  it('keeps all long words that are rare, in their order', () => {
    expect(rarePattern('alpha 1 gamma', new Set())).toBe('%alpha%gamma%');
  });

  it('does not exist where no rare word makes an entry', () => {
    expect(rarePattern('cannot read', new Set(['cannot ', ' read']))).toBeUndefined();
    expect(rarePattern('x', new Set())).toBeUndefined();
    expect(rarePattern('é1é', new Set())).toBeUndefined();
    expect(rarePattern('-> !', new Set())).toBeUndefined();
  });

  it('fits every text that holds what is looked for, whatever is common', () => {
    const text = fc.string({ unit: fc.constantFrom(...'abcde0123-_%\\"{}: é') });
    fc.assert(
      fc.property(text, text, text, fc.func(fc.boolean()), (before, needle, after, isCommon) => {
        const pattern = rarePattern(needle, new Set(piecesOf(needle).filter((piece) => isCommon(piece))));
        return pattern === undefined || isLike(`${before}${needle}${after}`, pattern);
      }),
      { numRuns: 2_000 },
    );
  });
});
