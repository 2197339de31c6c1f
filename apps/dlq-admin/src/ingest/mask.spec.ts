import { describe, expect, it } from '@jest/globals';
import { MASK, maskSecrets, stillMasked } from './mask.js';

describe('maskSecrets', () => {
  it('masks values under secret keys, secret shapes in texts, and the fields of the rules', () => {
    const aws = `AKIA${'ABCDEFGH12345678'}`;
    const { value, paths } = maskSecrets(
      {
        password: 'a',
        deep: [{ apiKey: 7, note: `key ${aws} here` }],
        user: { email: 'a@b.c', name: 'Ada' },
        totalTokens: 9,
      },
      ['user.email', 'deep.*.note'],
    );
    expect(value).toEqual({
      password: MASK,
      deep: [{ apiKey: MASK, note: MASK }],
      user: { email: MASK, name: 'Ada' },
      totalTokens: 9,
    });
    expect(paths).toEqual(['deep[0].apiKey', 'deep[0].note', 'password', 'user.email']);
  });

  it.each([
    ['a JSON web token', `eyJhbGciOiJI.eyJzdWIiOiIx.${'c'.repeat(20)}`],
    ['credentials in an address', 'postgres://joe:pw123@db/x'],
    ['a GitHub token', `ghp_${'a'.repeat(36)}`],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----'],
    ['a bearer header', 'Bearer abcdefghijklmnop'],
  ])('finds %s inside a text', (_, secret) => {
    const { value, paths } = maskSecrets({ line: `before ${secret} after` });
    expect(JSON.stringify(value)).not.toContain(secret);
    expect(paths).toEqual(['line']);
  });

  it('tells a token from a number of tokens', () => {
    expect(maskSecrets({ token: 'abc', tokens: 7, totalTokens: 9 }).value).toEqual({
      token: MASK,
      tokens: 7,
      totalTokens: 9,
    });
  });

  it('leaves plain values alone, whatever their type', () => {
    const plain = { a: 1, b: null, c: [true, 'text'], d: {} };
    expect(maskSecrets(structuredClone(plain))).toEqual({ value: plain, paths: [] });
  });

  it('walks prototype keys as data and thousands of levels without overflow', () => {
    const odd = JSON.parse('{"__proto__":{"password":"x"}}') as object;
    expect(maskSecrets(odd).paths).toEqual(['__proto__.password']);
    expect(({} as { password?: string }).password).toBeUndefined();
    let deep: unknown = { secret: 'x' };
    for (let level = 0; level < 5_000; level++) deep = [deep];
    expect(maskSecrets(deep).paths).toHaveLength(1);
  });
});

describe('stillMasked', () => {
  it('names what an edit has not given anew', () => {
    expect(stillMasked({ a: MASK, b: [{ c: `x ${MASK}` }], d: 'new' })).toEqual(['a', 'b[0].c']);
  });
});
