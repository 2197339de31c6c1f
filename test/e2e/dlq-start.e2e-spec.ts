import { describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { loadConfig } from '#config';
import { spawnApp, testDatabase, sharedRedis } from '#testing';
import { config as groups } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { startDlqAdmin } from './dlq-app.js';
import type { Headers } from './dlq-callers.js';

describe('dlq-admin at its start', () => {
  const start = async (
    env: Record<string, string>,
  ): Promise<{ child: ReturnType<typeof spawnApp>; remove: () => Promise<void> }> => {
    const database = await testDatabase('sqlite');
    const { url, prefix } = sharedRedis();
    const child = spawnApp('dlq-admin', {
      REDIS_URL: url,
      REDIS_PREFIX: prefix,
      DATABASE_URL: database.url,
      LOG_FORMAT: 'json',
      ...env,
    });
    return { child, remove: database.remove };
  };

  it('refuses a default key, and an open address without a key', async () => {
    const cases: [Record<string, string>, number][] = [
      [{ ADMIN_KEY: 'admin-7f2c' }, 78],
      [{ HOST: '0.0.0.0' }, 1],
    ];
    const codes = await Promise.all(
      cases.map(async ([env]) => {
        const { child, remove } = await start(env);
        const { code } = await child.exited;
        expect(child.stdout + child.stderr).not.toContain('admin-7f2c');
        await remove();
        return code;
      }),
    );
    expect(codes).toEqual(cases.map(([, code]) => code));
  }, 120_000);

  it.each([
    { ADMIN_KEY: 'admin' },
    { ADMIN_KEY: 'x7Gh2pQ9' },
    { ADMIN_KEY: 'a'.repeat(40) },
    { AUTH: 'maybe' },
    { ALERT_WEBHOOK_URL: 'http://example.org/x' },
    { ALERT_RULES: 'depth>5/9' },
    { REDACT_PATHS: 'a..b' },
    { REDACT_PATTERNS: '(?=x)' },
  ])('refuses the configuration %j', (env) => {
    expect(() => loadConfig(groups, { env, cwd: '/nonexistent' })).toThrow(Object.keys(env)[0]);
  });

  it.each([
    ['without a key serves nobody, and says so', {}, 'nobody is served'],
    [
      'with AUTH=off serves this machine only, says so, and refuses other hosts, proxies and plain forms',
      { AUTH: 'off' },
      'AUTH is off',
    ],
  ])(
    '%s',
    async (_, env, words) => {
      const { child, remove } = await start(env);
      const closed = !('AUTH' in env);
      const { port } = await child.log({ msg: 'dlq-admin listening' });
      await child.log({ msg: 'dlq-admin started' });
      await child.output(words);
      const ask = (headers: Headers, method = 'GET', path = '/api/v1/stats'): Promise<number> =>
        new Promise((resolve, reject) => {
          httpRequest(
            { host: '127.0.0.1', port: Number(port), path, method, headers },
            (reply) => (reply.resume(), resolve(reply.statusCode ?? 0)),
          )
            .on('error', reject)
            .end();
        });
      expect(await ask({})).toBe(closed ? 401 : 200);
      expect(await ask({ host: 'rebound.example' })).toBe(closed ? 401 : 403);
      for (const name of ['x-forwarded-for', 'x-real-ip', 'forwarded', 'via'])
        expect([name, await ask({ [name]: '10.0.0.1' })]).toEqual([name, 401]);
      expect(await ask({}, 'POST', '/api/v1/keys')).toBe(closed ? 401 : 403);
      expect((await child.end()).code).toBe(0);
      await remove();
    },
    60_000,
  );
});

describe('limits of dlq-admin', () => {
  it('hold for all requests of a key, whatever address they claim, and say when to come back', async () => {
    const admin = await startDlqAdmin('sqlite', { env: { RATE_LIMIT_PER_MINUTE: '20' } });
    const statuses: number[] = [];
    let retryAfter = 0;
    for (let n = 0; n < 60; n++) {
      const reply = await fetch(`${admin.url}/api/v1/session`, {
        headers: {
          'x-real-ip': `10.0.0.${n}`,
          'x-forwarded-for': `10.0.1.${n}`,
          forwarded: `for=10.0.2.${n}`,
        },
      });
      statuses.push(reply.status);
      if (reply.status === 429) retryAfter = Number(reply.headers.get('retry-after'));
    }
    expect(statuses).toContain(429);
    expect(retryAfter).toBeGreaterThan(0);
    expect((await fetch(`${admin.url}/health/live`)).status).toBe(200);
    await admin.stop();
  }, 60_000);

  it('of an address never lock out a right key: after 100 wrong ones it is let in, signs in, and stays', async () => {
    const admin = await startDlqAdmin('sqlite', { env: { RATE_LIMIT_PER_MINUTE: '20' } });
    const { key } = await admin.withKey({ role: 'viewer' });
    const ask = (authorization: string, cookie?: Headers): Promise<Response> =>
      fetch(`${admin.url}/api/v1/stats`, { headers: cookie ?? { authorization } });
    const wrong = `${key.slice(0, -3)}AAA`;
    let refused = 0;
    for (let n = 0; n < 100; n++) refused += Number((await ask(`Bearer ${wrong}`)).status === 429);
    expect(refused).toBeGreaterThan(80);
    expect((await ask(`Bearer ${key}`)).status).toBe(200);
    const signIn = (body: object): Promise<Response> =>
      fetch(`${admin.url}/api/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await signIn({ key: wrong })).status).toBe(429);
    const signedIn = await signIn({ key });
    expect(signedIn.status).toBe(200);
    const { csrfToken } = (await signedIn.json()) as { csrfToken: string };
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await ask('', { cookie, 'x-csrf-token': csrfToken })).status).toBe(200);
    expect((await ask('', { cookie, 'x-csrf-token': 'guessed' })).status).toBe(429);
    await admin.stop();
  }, 60_000);

  it('let nobody in while the database cannot say who they are', async () => {
    const admin = await startDlqAdmin('sqlite');
    const { key } = await admin.withKey({ role: 'admin' });
    await admin.database.stop();
    for (const headers of [
      { authorization: `Bearer ${key}` },
      { cookie: `__Host-millrace=${'a'.repeat(43)}` },
    ] as Headers[])
      expect((await fetch(`${admin.url}/api/v1/stats`, { headers })).status).toBe(503);
    expect((await fetch(`${admin.url}/health/live`)).status).toBe(200);
    await admin.stop();
  }, 60_000);
});
