import { describe, expect, it } from '@jest/globals';
import { apiKeyId, hashSecret, newApiKey, secretMatches } from '#database';
import { forgerySign, hasForeignBody, isLoopbackAddress, isLoopbackHost } from './origin.js';
import { Penalties, penaltyMs } from './access.service.js';
import { csvCell } from '../audit/audit.controller.js';
import { newSecret, sessionCookie, setSessionCookie } from './sessions.js';

describe('API keys', () => {
  it('hold 256 random bits, tell their id, and match their hash only', () => {
    const made = Array.from({ length: 50 }, () => newApiKey());
    expect(new Set(made.map(({ key }) => key)).size).toBe(50);
    for (const { id, key, hash } of made) {
      expect(Buffer.from(key.slice(16), 'base64url')).toHaveLength(32);
      expect(apiKeyId(key)).toBe(id);
      expect(secretMatches(key, hash)).toBe(true);
      expect(secretMatches(`${key}x`, hash)).toBe(false);
      expect(hash).not.toContain(key.slice(16));
    }
  });

  it('match nothing when the stored hash is no hash', () => {
    for (const hash of ['', 'zz', 'x'.repeat(64), 'ab'.repeat(40)])
      expect(secretMatches('key', hash)).toBe(false);
  });

  it.each([
    '',
    'mr_',
    'mr_123_abc',
    `mr_${'g'.repeat(12)}_${'a'.repeat(43)}`,
    `mr_${'0'.repeat(12)}_${'a'.repeat(42)}`,
  ])('are not %j', (text) => {
    expect(apiKeyId(text)).toBeNull();
  });

  it('begin sessions whose token does not follow from the cookie', () => {
    const { secret: cookie, hash } = newSecret();
    expect(hashSecret(cookie)).toBe(hash);
    expect(new Set(Array.from({ length: 50 }, () => newSecret().secret).concat(cookie)).size).toBe(51);
    expect(Buffer.from(cookie, 'base64url')).toHaveLength(32);
    expect(sessionCookie(`a=b; ${setSessionCookie(cookie, 1_000)}`)).toBe(cookie);
    for (const header of [
      undefined,
      '',
      '__Host-millrace=short',
      `other=${cookie}`,
      `x__Host-millrace=${cookie}`,
    ])
      expect(sessionCookie(header)).toBeNull();
  });
});

describe('forged requests', () => {
  const own = { host: 'dlq.example', origin: 'https://dlq.example', 'sec-fetch-site': 'same-origin' };

  it('are told from own ones by what browsers say', () => {
    expect(forgerySign('POST', own)).toBeNull();
    expect(forgerySign('POST', { host: 'dlq.example' })).toBeNull();
    for (const headers of [
      { ...own, origin: 'https://evil.example' },
      { ...own, origin: 'null' },
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-site': 'same-site' },
    ])
      expect(forgerySign('POST', headers)).not.toBeNull();
    expect(forgerySign('GET', { ...own, origin: 'https://evil.example' })).toBeNull();
  });

  it('cannot bring a body, whose type a plain form could send', () => {
    expect(
      hasForeignBody('POST', { 'content-type': 'application/json; charset=utf-8', 'content-length': '2' }),
    ).toBe(false);
    expect(hasForeignBody('POST', {})).toBe(false);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json, text/plain',
      'application/jsonx',
    ])
      expect(hasForeignBody('POST', { 'content-type': type, 'content-length': '2' })).toBe(true);
    expect(hasForeignBody('POST', { 'content-length': '2' })).toBe(true);
  });
});

describe('loopback', () => {
  it('is this machine under its own names and nothing else', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', '::ffff:127.0.0.1'])
      expect(isLoopbackAddress(address)).toBe(true);
    for (const address of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', '128.0.0.1', ''])
      expect(isLoopbackAddress(address)).toBe(false);
    expect([
      isLoopbackHost('localhost:8080'),
      isLoopbackHost('[::1]:80'),
      isLoopbackHost('rebound.example:80'),
      isLoopbackHost(undefined),
    ]).toEqual([true, true, false, false]);
  });
});

describe('penalties', () => {
  it('double with every failure after the free ones, up to a ceiling, and are forgotten in time', () => {
    expect([1, 5, 6, 7, 8, 100].map(penaltyMs)).toEqual([0, 0, 1_000, 2_000, 4_000, 300_000]);
    let now = 0;
    const penalties = new Penalties({ monotonic: () => now });
    for (let n = 0; n < 7; n++) penalties.punish('a');
    expect(penalties.waitMs('a')).toBe(2_000);
    expect(penalties.waitMs('b')).toBe(0);
    now = 2_000;
    expect(penalties.waitMs('a')).toBe(0);
    now += 16 * 60_000;
    penalties.punish('a');
    expect(penalties.waitMs('a')).toBe(0);
  });

  it('forget the oldest of very many addresses', () => {
    const penalties = new Penalties({ monotonic: () => 0 });
    for (let n = 0; n < 10; n++) penalties.punish('first');
    for (let n = 0; n < 10_001; n++) penalties.punish(`other-${n}`);
    expect(penalties.waitMs('first')).toBe(0);
  });
});

describe('CSV cells', () => {
  it.each([
    ['=1+1', `"'=1+1"`],
    ['+1', `"'+1"`],
    ['-cmd', `"'-cmd"`],
    ['@x', `"'@x"`],
    ['\tx', `"'\tx"`],
    ['\0x', `"'\0x"`],
    ['-12.5', '"-12.5"'],
    ['say "hi"', '"say ""hi"""'],
    [null, '""'],
    [7, '"7"'],
  ])('are inert: %j', (value, cell) => {
    expect(csvCell(value)).toBe(cell);
  });
});
