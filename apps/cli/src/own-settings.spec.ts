import { describe, expect, it } from '@jest/globals';
import { ownSettings } from './own-settings.js';

describe('the settings of a laptop', () => {
  it('are those that carry our name, and no others', async () => {
    expect(
      await ownSettings({
        DATABASE_URL: 'postgres://project/own',
        REDIS_URL: 'redis://project',
        MILLRACE_REDIS_URL: 'redis://ours',
        MILLRACE_DATABASE_URL_FILE: '/secrets/url',
        MILLRACE_FAULT: 'a:1:kill',
        MILLRACE_NOT_A_KEY: 'x',
        MILLRACE_LOG_LEVEL: '',
        PATH: '/bin',
      }),
    ).toEqual({ REDIS_URL: 'redis://ours', DATABASE_URL_FILE: '/secrets/url', MILLRACE_FAULT: 'a:1:kill' });
  });

  it('come from a file of our name, or one that is named', async () => {
    expect(
      await ownSettings({ MILLRACE_CONFIG_FILE: '/etc/millrace.json', CONFIG_FILE: '/etc/theirs.json' }),
    ).toEqual({
      CONFIG_FILE: '/etc/millrace.json',
    });
  });
});
