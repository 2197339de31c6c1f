import { describe, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { parseDatabaseUrl } from './database-url.js';
import { storableText } from './query.js';

describe('DATABASE_URL', () => {
  it.each([
    ['sqlite:/data/a.db', '/data/a.db'],
    ['sqlite:///data/a.db', '/data/a.db'],
    ['sqlite:a b/c.db', resolve('a b/c.db')],
  ])('%s is a file', (url, path) => {
    expect(parseDatabaseUrl(url)).toEqual({ dialect: 'sqlite', path });
  });

  it.each(['postgres://u:p@h/d', 'postgresql://u:p@h:5433/d?sslmode=require'])('%s is a server', (url) => {
    expect(parseDatabaseUrl(url)).toEqual({ dialect: 'postgres', url });
  });

  it('names the schema of a pipeline beside the server', () => {
    expect(parseDatabaseUrl('postgres://u:p@h/d?schema=team_a&sslmode=require')).toEqual({
      dialect: 'postgres',
      url: 'postgres://u:p@h/d?sslmode=require',
      schema: 'team_a',
    });
    expect(() => parseDatabaseUrl('postgres://h/d?schema=A;drop')).toThrow(/schema= is "A;drop"; allowed/);
  });

  it.each(['', 'sqlite:', 'sqlite::memory:', 'mysql://h/d', 'postgres://', '/data/a.db'])(
    '"%s" is refused',
    (url) => {
      expect(() => parseDatabaseUrl(url)).toThrow(
        expect.objectContaining({ code: 'DATABASE_URL_INVALID', fatal: true }),
      );
    },
  );

  it('does not appear in the error, for it may hold a password', () => {
    expect(() => parseDatabaseUrl('mysql://u:hunter2@h/d')).toThrow(/^(?!.*hunter2)/);
  });
});

describe('storable text', () => {
  it('has no NUL and no lone surrogate, and is otherwise the same', () => {
    expect(storableText('a\0b\ud800c 🎉')).toBe('a\u2400b\ufffdc 🎉');
  });
});
