import { describe, expect, it } from '@jest/globals';
import { freePort, sharedRedis, spawnApp, testDatabase } from '#testing';
import { loadConfig, printable } from '#config';
import { config as groups } from '../../apps/dlq-admin/src/dlq-admin.config.js';

describe('what an app tells strangers', () => {
  it('is no figure without METRICS_KEY, no address of a store, and not what it is made with', async () => {
    const database = await testDatabase('sqlite');
    const redisPort = await freePort();
    const child = spawnApp('outbox-publisher', {
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
      REDIS_PREFIX: sharedRedis().prefix,
      DATABASE_URL: database.url,
      LOG_FORMAT: 'json',
      METRICS_KEY: 'a-key-for-the-scraper',
    });
    const { port } = await child.log({ msg: 'outbox-publisher listening' });
    const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${String(port)}${path}`, { headers });
    expect((await ask('/metrics')).status).toBe(401);
    expect((await ask('/metrics', { authorization: 'Bearer a-key-for-the-scrapes' })).status).toBe(401);
    const scraped = await ask('/metrics', { authorization: 'Bearer a-key-for-the-scraper' });
    expect([scraped.status, scraped.headers.get('x-powered-by')]).toEqual([200, null]);
    const stranger = await (await ask('/health/ready', { 'x-forwarded-for': '203.0.113.9' })).text();
    const own = await (await ask('/health/ready')).text();
    expect(own).toContain('reason');
    expect(stranger).not.toMatch(/reason|127\.0\.0\.1/);
    await child.end('SIGKILL');
    await database.remove();
  }, 60_000);

  it('is nothing of a password, a hook or a token, in the configuration it prints', () => {
    const env = {
      REDIS_URL: 'redis://joe:p@ss/w@rd@cache:6379/1',
      DATABASE_URL: 'postgres://joe:hun@ter2@db:5432/millrace?password=hunter3',
      ALERT_WEBHOOK_URL: 'https://hooks.example/services/T000/B000/hunter4?token=hunter5',
      ADMIN_KEY: 'hunter6-hunter6-hunter6-x',
      OIDC_ISSUER: 'https://issuer.example',
      OIDC_AUDIENCE: 'millrace',
      OIDC_JWKS_URL: 'https://issuer.example/keys?token=hunter7',
      TRACE_URL: 'https://joe:hunter8@traces.example/{traceId}?key=hunter9',
    };
    const config = loadConfig(groups, { env, cwd: '/nonexistent' });
    const shown = JSON.stringify(printable(groups, config));
    expect(shown).not.toMatch(/hunter\d|p@ss|w@rd|ter2|T000/);
    expect(shown).toContain('cache:6379');
    expect(shown).toContain('traces.example/{traceId}?');
  });
});
