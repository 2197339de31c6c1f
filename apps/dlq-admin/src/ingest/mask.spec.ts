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

describe('hostile letters', () => {
  it('with 200,000 items, or as many below thousands of levels, are walked like any other', () => {
    let deep: unknown = Array.from({ length: 200_000 }, (_, n) => n);
    expect(maskSecrets({ items: deep }).paths).toEqual([]);
    for (let level = 0; level < 5_000; level++) deep = { deep };
    expect(maskSecrets(deep).paths).toEqual([]);
    expect(stillMasked(deep)).toEqual([]);
  });

  it('with more values than can be checked are not kept', () => {
    const { value, paths } = maskSecrets({ items: new Array(1_000_001).fill(0) });
    expect([value, paths]).toEqual([{ unreadable: 'more than 1000000 values' }, ['']]);
  });

  it('of many texts share one budget', () => {
    const begun = process.cpuUsage();
    const { value } = maskSecrets(Array.from({ length: 200 }, () => 'password eyJ- '.repeat(5_000)));
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1e6).toBeLessThan(10);
    expect((value as string[]).at(0)).toContain('too much to check');
  });

  it('whose secrets are keys lose those too', () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const { value, paths } = maskSecrets({ owners: { [token]: 'ada', plain: 'bob' } });
    expect(JSON.stringify(value)).not.toContain(token);
    expect(value).toEqual({ owners: { '[redacted] 1': 'ada', plain: 'bob' } });
    expect(paths).toEqual(['owners']);
  });
});

describe('stillMasked', () => {
  it('names what an edit has not given anew', () => {
    expect(stillMasked({ a: MASK, b: [{ c: `x ${MASK}` }], d: 'new' })).toEqual(['a', 'b[0].c']);
  });
});
