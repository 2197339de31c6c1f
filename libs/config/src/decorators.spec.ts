import { describe, expect, it } from '@jest/globals';
import {
  Choice,
  ConfigError,
  DatabaseUrl,
  describeKeys,
  Flag,
  Int,
  isQueueName,
  List,
  loadConfig,
  OPTIONAL,
  QueueName,
  RedisUrl,
  Secret,
  Text,
  Url,
} from './index.js';

class Every {
  @Int('n', OPTIONAL, [1, 9]) INT?: number;
  @Flag('n', OPTIONAL) FLAG?: boolean;
  @Choice('n', OPTIONAL, ['a', 'b']) CHOICE?: string;
  @Text('n', OPTIONAL, { matches: /^x+$/, must: 'crosses' }) TEXT?: string;
  @Secret('n', OPTIONAL, { matches: /^.{4,}$/, must: 'long' }) SECRET?: string;
  @List('n', OPTIONAL, { each: isQueueName, must: 'names', max: 2, unique: true }) LIST?: string[];
  @Url('n', OPTIONAL, ['https']) URL?: string;
  @RedisUrl('n', OPTIONAL) REDIS?: string;
  @DatabaseUrl('n', OPTIONAL) DATABASE?: string;
  @QueueName('n', OPTIONAL) QUEUE?: string;
}

function faultOf(env: Record<string, string>): string {
  try {
    loadConfig({ every: Every }, { env, cwd: '/nonexistent' });
  } catch (error) {
    return (error as ConfigError).faults.map(({ key, rule }) => `${key}: ${rule}`).join('\n');
  }
  return 'none';
}

describe('a key', () => {
  it.each([
    ['INT', '0', 'INT must not be less than 1'],
    ['INT', '10', 'INT must not be greater than 9'],
    ['INT', 'x', 'INT must be an integer number'],
    ['INT', '1.5', 'INT must be an integer number'],
    ['FLAG', 'maybe', 'FLAG must be a boolean value'],
    ['CHOICE', 'c', 'CHOICE must be one of the following values: a, b'],
    ['TEXT', 'y', 'TEXT must be crosses'],
    ['SECRET', 'abc', 'SECRET must be long'],
    ['LIST', 'a,b:c', 'each item of LIST must be names'],
    ['LIST', 'a,b,c', 'LIST must contain no more than 2 elements'],
    ['LIST', 'a,a', "All LIST's elements must be unique"],
    ['URL', 'http://a', 'URL must be https://…'],
    ['URL', 'a.example', 'URL must be https://…'],
    ['URL', 'https://', 'URL must be https://…'],
    ['REDIS', 'http://a', 'REDIS must be redis://…'],
    ['DATABASE', 'mysql://a', 'DATABASE must be sqlite:<path> or postgres://'],
    ['QUEUE', 'a:b', 'QUEUE must be 1 to 100 letters, digits or any of _ - . { }'],
  ])('%s refuses %s', (key, value, rule) => {
    expect(faultOf({ [key]: value })).toContain(`${key}: `);
    expect(faultOf({ [key]: value })).toContain(rule);
  });

  it.each([
    ['INT', '9'],
    ['FLAG', 'on'],
    ['CHOICE', 'b'],
    ['TEXT', 'xx'],
    ['LIST', 'a, {b}'],
    ['URL', 'https://user:word@my_host:1/x'],
    ['REDIS', 'redis+sentinel://a,b/main'],
    ['DATABASE', 'sqlite:x.db'],
    ['QUEUE', '{a}-b.c_1'],
  ])('%s takes %s', (key, value) => {
    expect(faultOf({ [key]: value })).toBe('none');
  });

  it('says what it allows, for the reference', () => {
    const allowed = Object.fromEntries(describeKeys(Every).map((spec) => [spec.name, spec.allowed]));
    expect(allowed).toMatchObject({
      INT: 'integer ≥ 1, ≤ 9',
      FLAG: 'boolean',
      CHOICE: 'a, b',
      LIST: 'list, comma-separated',
    });
  });
});
