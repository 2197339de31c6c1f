import { describe, expect, it } from '@jest/globals';
import { isFatalStartup, silentLogger, type Logger } from '#service';
import { checkServers, isOlder, parseInfo } from './boot-check.js';

const INFO = '# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n# Memory\r\nmaxmemory_policy:allkeys-lru\r\n';

describe('the boot check', () => {
  it('reads version, policy and run id', () => {
    expect(parseInfo(INFO)).toEqual({ version: '7.0.15', evictionPolicy: 'allkeys-lru', runId: 'abc' });
    expect(parseInfo('redis_version:7.2.4\r\nvalkey_version:8.1.0\r\n').version).toBe('8.1.0');
  });

  it.each([
    ['6.0.16', true],
    ['6.2', false],
    ['6.2.0', false],
    ['6.10.1', false],
    ['7.0.0', false],
    ['5.9.9', true],
  ])('compares versions by number: %s', (version, older) => {
    expect(isOlder(version, '6.2.0')).toBe(older);
  });

  it('refuses a server that evicts with a fatal error that names the cure, or only warns', () => {
    const servers = [parseInfo(INFO)];
    const refuse = (): void => checkServers(servers, 'refuse', silentLogger);
    expect(refuse).toThrow(/noeviction/);
    expect(refuse).toThrow(expect.objectContaining({ code: 'REDIS_EVICTS', fatal: true }));
    const warned: unknown[] = [];
    const logger = { ...silentLogger, warn: (facts: unknown) => warned.push(facts) } as unknown as Logger;
    checkServers(servers, 'warn', logger);
    expect(warned).toEqual([{ code: 'REDIS_EVICTS', policy: 'allkeys-lru' }]);
  });

  it('refuses an old server', () => {
    let error: unknown;
    try {
      checkServers([{ version: '6.0.16', evictionPolicy: 'noeviction', runId: '' }], 'warn', silentLogger);
    } catch (thrown) {
      error = thrown;
    }
    expect(isFatalStartup(error)).toBe(true);
    expect(error).toMatchObject({ code: 'REDIS_TOO_OLD', version: '6.0.16' });
  });
});
