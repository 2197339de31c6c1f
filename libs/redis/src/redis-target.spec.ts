import { describe, expect, it } from '@jest/globals';
import { parseRedisUrl } from './redis-target.js';

describe('REDIS_URL', () => {
  it('names one server, with defaults for what is left out', () => {
    expect(parseRedisUrl('redis://localhost')).toEqual({
      kind: 'standalone',
      host: 'localhost',
      port: 6379,
      db: 0,
      tls: false,
    });
    expect(parseRedisUrl('redis://10.0.0.1:7000/3')).toMatchObject({ host: '10.0.0.1', port: 7000, db: 3 });
    expect(parseRedisUrl('redis://[::1]:7000')).toMatchObject({ host: '::1', port: 7000 });
  });

  it('carries percent-encoded credentials', () => {
    expect(parseRedisUrl('rediss://user%40a:p%3Aw%2Fd@host:1')).toMatchObject({
      tls: true,
      username: 'user@a',
      password: 'p:w/d',
    });
    const only = parseRedisUrl('redis://:secret@host');
    expect(only.password).toBe('secret');
    expect(only.username).toBeUndefined();
  });

  it('names a unix socket', () => {
    expect(parseRedisUrl('unix:///run/redis%20a.sock?db=2')).toEqual({
      kind: 'socket',
      path: '/run/redis a.sock',
      db: 2,
      tls: false,
    });
  });

  it('names sentinels, their master and a database', () => {
    expect(parseRedisUrl('rediss+sentinel://u:p@a:1,b,[::1]:3/main/4?sentinelPassword=s%26p')).toEqual({
      kind: 'sentinel',
      tls: true,
      username: 'u',
      password: 'p',
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
        { host: '::1', port: 3 },
      ],
      master: 'main',
      db: 4,
      sentinelPassword: 's&p',
    });
  });

  it('names the nodes of a cluster', () => {
    expect(parseRedisUrl('redis+cluster://a:1,b')).toEqual({
      kind: 'cluster',
      tls: false,
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
    });
  });

  it.each([
    'localhost:6379',
    'http://host',
    'redis://host:99999',
    'redis://host:port',
    'redis://host/db',
    'redis+sentinel://a:1',
    'redis+cluster://',
    'unix://host/path',
    'redis://%zz@host',
  ])('refuses %s and shows the right forms', (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/redis\+sentinel:\/\/host:port/);
  });

  it('never shows the password in its error', () => {
    expect(() => parseRedisUrl('redis://u:hunter2@host:0')).toThrow(
      expect.objectContaining({ code: 'INVALID_REDIS_URL', message: expect.not.stringContaining('hunter2') }),
    );
  });
});
