import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { AuditLog, execute, queryRows } from '#database';
import { DlqClient, ROLES, type Role } from '#dlq-client';
import { loadConfig } from '#config';
import { createLogger } from '#service';
import { eventually, spawnApp, testDatabase, sharedRedis } from '#testing';
import { config as groups } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { routesOf, type Route } from '../../apps/dlq-admin/src/http/routes.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

type Headers = Record<string, string>;

describe('access to dlq-admin', () => {
  let admin: TestDlqAdmin;
  let logged = '';
  const keys = {} as Record<Role, string>;
  let letterId = 0;

  beforeAll(async () => {
    const logger = createLogger({
      service: 'dlq-admin',
      workerId: 'w',
      level: 'debug',
      stream: { write: (line) => void (logged += line) },
    });
    admin = await startDlqAdmin('sqlite', { logger });
    await admin.send([deadLetter({ queue: 'q-a', data: { hello: 'world' } }), deadLetter({ queue: 'q-b' })]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(2));
    letterId = (await admin.client.letters({ queue: 'q-a' })).items[0]?.id ?? 0;
    for (const role of ['admin', 'operator', 'viewer'] as const)
      keys[role] = (await admin.withKey({ name: role, role })).key;
  }, 60_000);
  afterAll(() => admin.stop());

  const call = (method: string, path: string, headers: Headers = {}, body?: string): Promise<Response> =>
    fetch(`${admin.url}${path}`, { method, headers, body, redirect: 'manual' });
  const as = (role: Role): Headers => ({ authorization: `Bearer ${keys[role]}` });
  const json = { 'content-type': 'application/json' };
  const problem = async (reply: Response): Promise<string> => ((await reply.json()) as { code: string }).code;

  // The least role for each route that is not for admins; what is missing here must be refused to everybody else.
  const LEAST: Record<string, Role | 'public'> = {
    'GET /health/live': 'public',
    'GET /health/ready': 'public',
    'GET /health/startup': 'public',
    'POST /api/v1/session': 'public',
    'GET /metrics': 'viewer',
    'GET /docs': 'viewer',
    'GET /docs/openapi.json': 'viewer',
    'GET /api/v1/session': 'viewer',
    'DELETE /api/v1/session': 'viewer',
    'GET /api/v1/stats': 'viewer',
    'GET /api/v1/groups': 'viewer',
    'GET /api/v1/groups/:id': 'viewer',
    'POST /api/v1/groups/:id/requeue': 'operator',
    'POST /api/v1/groups/:id/discard': 'operator',
    'HEAD /api/v1/dead-letters': 'viewer',
    'GET /api/v1/dead-letters': 'viewer',
    'GET /api/v1/dead-letters/:id': 'viewer',
    'GET /api/v1/dead-letters/:id/payload': 'operator',
    'PATCH /api/v1/dead-letters/:id/payload': 'operator',
    'POST /api/v1/dead-letters/:id/requeue': 'operator',
    'POST /api/v1/dead-letters/:id/discard': 'operator',
    'POST /api/v1/dead-letters/:id/restore': 'operator',
    'POST /api/v1/bulk-actions': 'operator',
    'GET /api/v1/bulk-actions': 'viewer',
    'GET /api/v1/bulk-actions/:id': 'viewer',
    'POST /api/v1/bulk-actions/:id/abort': 'operator',
    'GET /api/v1/dead-events': 'viewer',
    'POST /api/v1/dead-events/:id/revive': 'operator',
    'GET /api/v1/audit': 'operator',
    'GET /api/v1/audit/export': 'admin',
    'GET /api/v1/audit/verify': 'admin',
    'GET /api/v1/keys': 'admin',
    'POST /api/v1/keys': 'admin',
    'POST /api/v1/keys/:id/revoke': 'admin',
  };
  const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
  const at = (route: Route): string => route.path.replace(':id', '999999');

  it('is refused without a key on every route that the router knows, probes and signing in excepted', async () => {
    const routes = routesOf(admin.app);
    expect(routes.map(nameOf).sort()).toEqual(Object.keys(LEAST).sort());
    for (const route of routes.filter((one) => LEAST[nameOf(one)] !== 'public')) {
      const reply = await call(
        route.method,
        at(route),
        route.method === 'GET' || route.method === 'HEAD' ? {} : json,
        route.method === 'GET' || route.method === 'HEAD' ? undefined : '{}',
      );
      expect([nameOf(route), reply.status]).toEqual([nameOf(route), 401]);
    }
  });

  it('follows the role on every route: too little is 403, enough is anything but 401 and 403', async () => {
    for (const route of routesOf(admin.app)) {
      const least = LEAST[nameOf(route)] ?? 'admin';
      if (least === 'public') continue;
      for (const role of ROLES) {
        if (nameOf(route) === 'DELETE /api/v1/session' && role !== 'viewer') continue;
        const safe = route.method === 'GET' || route.method === 'HEAD';
        const reply = await call(
          route.method,
          at(route),
          { ...as(role), ...(safe ? {} : json) },
          safe ? undefined : '{}',
        );
        const enough = ROLES.indexOf(role) >= ROLES.indexOf(least);
        expect([
          nameOf(route),
          role,
          enough ? ![401, 403, 500].includes(reply.status) : reply.status === 403,
        ]).toEqual([nameOf(route), role, true]);
      }
    }
  }, 60_000);

  it('shows viewers neither payload nor stack, and lets them search in neither', async () => {
    const shown = (await (
      await call('GET', `/api/v1/dead-letters/${letterId}`, as('viewer'))
    ).json()) as object;
    const full = (await (
      await call('GET', `/api/v1/dead-letters/${letterId}`, as('operator'))
    ).json()) as Record<string, unknown>;
    expect(shown).toMatchObject({ payload: null, stack: null, hidden: true, options: {} });
    expect(full).toMatchObject({ payload: { hello: 'world' }, hidden: false });
    for (const query of ['text=world', 'payload.hello=world'])
      expect((await call('GET', `/api/v1/dead-letters?${query}`, as('viewer'))).status).toBe(403);
  });

  it('is limited to the queues of a key: other letters, groups and counts do not exist for it', async () => {
    const { client } = await admin.withKey({ name: 'only b', role: 'operator', queues: ['q-b'] });
    expect((await client.letters()).items.map(({ queue }) => queue)).toEqual(['q-b']);
    await expect(client.letter(letterId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(client.change(letterId, 'discard')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await client.stats()).queues.map(({ queue }) => queue)).toEqual(['q-b']);
    expect((await client.groups()).items.flatMap(({ queues }) => queues.map(({ queue }) => queue))).toEqual([
      'q-b',
    ]);
    expect(await client.preview({ kind: 'discard', filter: {} })).toMatchObject({ total: 1 });
    expect((await client.audit()).items.every(({ actor }) => actor.startsWith('only b'))).toBe(true);
  });

  it('ends at once when a key is revoked, also for its session, and on expiry', async () => {
    const { key, id, client } = await admin.withKey({ name: 'short', role: 'viewer' });
    const signedIn = await call('POST', '/api/v1/session', json, JSON.stringify({ key }));
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect((await call('GET', '/api/v1/stats', { cookie })).status).toBe(200);
    await new DlqClient({ url: admin.url, key: keys.admin }).revokeKey(id);
    await expect(client.stats()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect((await call('GET', '/api/v1/stats', { cookie })).status).toBe(401);
    const expiring = await admin.withKey({ name: 'expiring', role: 'viewer', expiresInDays: 1 });
    await admin.database.inTransaction((tx) =>
      execute(tx, 'UPDATE api_keys SET expires_at = 1 WHERE id = $1', [expiring.id]),
    );
    await expect(expiring.client.stats()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  });

  it('lets a replaced key live for its overlap only', async () => {
    const old = await admin.withKey({ name: 'old', role: 'viewer' });
    const fresh = await admin.withKey({ name: 'new', role: 'viewer', replaces: old.id, overlapHours: 1 });
    const [row] = await admin.database.read((m) =>
      queryRows<{ e: number }>(m, 'SELECT expires_at AS e FROM api_keys WHERE id = $1', [old.id]),
    );
    expect(Math.abs((row?.e ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    await Promise.all([old.client.stats(), fresh.client.stats()]);
  });

  it('leaves no key in the database, the logs or an address', async () => {
    const tables = ['api_keys', 'sessions', 'idempotency_keys', 'audit_log'];
    const dump = JSON.stringify(
      await Promise.all(
        tables.map((table) => admin.database.read((m) => queryRows(m, `SELECT * FROM ${table}`))),
      ),
    );
    for (const key of Object.values(keys)) {
      expect(dump).not.toContain(key);
      expect(logged).not.toContain(key);
      expect(dump).not.toContain(key.slice('mr_'.length + 12 + 1));
    }
    for (const name of ['api_key', 'apikey', 'key', 'token', 'access_token'])
      expect((await call('GET', `/api/v1/stats?${name}=x`, as('viewer'))).status).toBe(400);
  });

  it('gives browsers a cookie that only they and only this origin can use', async () => {
    const reply = await call('POST', '/api/v1/session', json, JSON.stringify({ key: keys.operator }));
    const header = reply.headers.get('set-cookie') ?? '';
    expect(header).toMatch(
      /^__Host-millrace=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$/,
    );
    const cookie = header.split(';')[0] ?? '';
    const { csrfToken } = (await reply.json()) as { csrfToken: string };
    const discard = `/api/v1/dead-letters/${letterId}/discard`;
    expect((await call('POST', discard, { ...json, cookie }, '{}')).status).toBe(403);
    expect(
      (await call('POST', discard, { ...json, cookie, 'x-csrf-token': 'x'.repeat(43) }, '{}')).status,
    ).toBe(403);
    expect(
      (
        await call(
          'POST',
          discard,
          { ...json, cookie, 'x-csrf-token': csrfToken, origin: 'https://evil.example' },
          '{}',
        )
      ).status,
    ).toBe(403);
    expect(
      (
        await call(
          'POST',
          discard,
          { ...json, cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' },
          '{}',
        )
      ).status,
    ).toBe(403);
    expect((await call('POST', discard, { ...json, cookie, 'x-csrf-token': csrfToken }, '{}')).status).toBe(
      200,
    );
    expect(
      (
        await call(
          'POST',
          `/api/v1/dead-letters/${letterId}/restore`,
          { ...json, cookie, 'x-csrf-token': csrfToken },
          '{}',
        )
      ).status,
    ).toBe(200);
    expect(
      ((await (await call('GET', '/api/v1/session', { cookie })).json()) as { csrfToken: string }).csrfToken,
    ).toBe(csrfToken);
    expect(
      (await call('DELETE', '/api/v1/session', { ...json, cookie, 'x-csrf-token': csrfToken }, '{}')).status,
    ).toBe(200);
    expect((await call('GET', '/api/v1/stats', { cookie })).status).toBe(401);
  });

  it('takes only JSON, never encoded, never too large, too deep or too many', async () => {
    const discard = `/api/v1/dead-letters/${letterId}/discard`;
    const send = async (headers: Headers, body: string | Buffer): Promise<number> =>
      (
        await fetch(`${admin.url}${discard}`, {
          method: 'POST',
          headers: { ...as('operator'), ...headers },
          body: body as never,
        })
      ).status;
    expect(await send({ 'content-type': 'text/plain' }, '{}')).toBe(415);
    expect(await send({ 'content-type': 'application/x-www-form-urlencoded' }, 'note=x')).toBe(415);
    expect(await send({ 'content-type': 'multipart/form-data; boundary=x' }, '--x--')).toBe(415);
    expect(await send({ ...json, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(10_000_000, 32)))).toBe(
      415,
    );
    expect(await send(json, JSON.stringify({ note: 'x'.repeat(200_000) }))).toBe(413);
    expect(await send(json, `{"note":${'['.repeat(100)}${']'.repeat(100)}}`)).toBe(400);
    expect(await send(json, `{"a":[${Array(60_000).fill('1').join(',')}]}`)).toBe(413);
    expect(await send(json, `{"a":[${Array(49_000).fill('1').join(',')}]}`)).toBe(400);
    expect(await send(json, 'null')).toBe(400);
    expect(await send(json, '{"note":')).toBe(400);
    expect((await call('GET', `/api/v1/dead-letters?queue=${'x'.repeat(5_000)}`, as('viewer'))).status).toBe(
      414,
    );
    for (const body of [
      '{"role":"admin"}',
      '{"note":"x","attempts":1}',
      '{"__proto__":{"a":1}}',
      '{"constructor":{"prototype":{}}}',
      '{"note":["x"]}',
    ])
      expect([body, await send(json, body)]).toEqual([body, 400]);
    const big = { payload: { text: 'y'.repeat(600_000) } };
    const edit = await call(
      'PATCH',
      `/api/v1/dead-letters/${letterId}/payload`,
      { ...as('operator'), ...json },
      JSON.stringify(big),
    );
    expect(await problem(edit)).toBe('VERSION_REQUIRED');
  });

  it('checks every parameter of a list and takes hostile ones as plain text', async () => {
    const status = async (query: string): Promise<number> =>
      (await call('GET', `/api/v1/dead-letters?${query}`, as('operator'))).status;
    for (const bad of [
      'limit=1e9',
      'limit=201',
      'limit=0',
      'limit=-1',
      'limit=5&limit=6',
      'status=evil',
      'status=open&status=open',
      'queue[]=a&queue[]=b',
      'from=now',
      'cursor=e30',
      'cursor=%00',
      'sort=id',
      'text=ab',
      'text=abc&text=def',
      'payload.a=1&payload.a=2',
      'payload.=x',
      'payload.a..b=x',
      'payload.__proto__.x=',
      'limit[$gt]=1',
      'reason=error%27',
      'text=%00abc',
    ])
      expect([bad, await status(bad)]).toEqual([bad, 400]);
    const corpus = [
      "' OR 1=1 --",
      '"; DROP TABLE dead_letters; --',
      "') UNION SELECT key_hash FROM api_keys --",
      '%',
      '%%%',
      '___',
      '\\\\\\',
      '(a+)+$',
      '*',
      'NEAR(a b)',
      '"a" OR "b"',
      'text:abc',
      '${1}',
      '$1$2',
      '?1?2',
      '<script>alert(1)</script>',
    ];
    for (const hostile of corpus) {
      for (const field of ['queue', 'name', 'error', 'group', 'worker', 'text', 'payload.a.b']) {
        const reply = await call(
          'GET',
          `/api/v1/dead-letters?${field}=${encodeURIComponent(hostile.padEnd(3, 'x'))}`,
          as('operator'),
        );
        expect([field, hostile, reply.status]).toEqual([field, hostile, 200]);
        expect([field, hostile, ((await reply.json()) as { items: unknown[] }).items]).toEqual([
          field,
          hostile,
          [],
        ]);
      }
    }
    expect((await new DlqClient({ url: admin.url, key: keys.operator }).count()).count).toBe(2);
  });

  it('answers errors with a code and a trace id, never with a stack, a path or SQL', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/dead-letters/abc'],
      ['GET', '/api/v1/dead-letters/99999999999999999999'],
      ['GET', '/nothing/here'],
      ['GET', '/api/v1/bulk-actions/nope'],
    ] as const) {
      const reply = await call(method, path, as('admin'));
      const text = await reply.text();
      expect(reply.status).toBeLessThan(500);
      expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(text)).toMatchObject({
        status: reply.status,
        type: 'about:blank',
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      });
      expect(text).not.toMatch(/\/src\/|node_modules|SELECT|\n\s+at /);
    }
  });

  it('sets strict headers, permits no other origin, and serves needed methods only', async () => {
    const reply = await call('GET', '/api/v1/stats', { ...as('viewer'), origin: 'https://evil.example' });
    const header = (name: string): string => reply.headers.get(name) ?? '';
    expect(header('access-control-allow-origin')).toBe('');
    const policy = header('content-security-policy');
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "object-src 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
      "connect-src 'self'",
    ])
      expect(policy).toContain(part);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(header('strict-transport-security')).toMatch(/max-age=31536000/);
    expect(header('x-content-type-options')).toBe('nosniff');
    expect(header('referrer-policy')).toBe('no-referrer');
    expect(header('cross-origin-opener-policy')).toBe('same-origin');
    expect(header('cache-control')).toBe('no-store');
    expect(header('x-powered-by')).toBe('');
    for (const method of ['PUT', 'OPTIONS', 'PROPFIND'])
      expect([method, (await call(method, '/api/v1/stats')).status]).toEqual([method, 405]);
    expect(await rawStatus(admin.url, 'TRACE', '/api/v1/stats')).toBe(405);
    expect((await call('GET', '/assets/../package.json')).status).toBe(404);
    expect((await call('GET', '/assets/%2e%2e/%2e%2e/src/main.ts')).status).toBe(404);
    const page = await call('GET', '/letters?status=open');
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([200, policy]);
  });

  it('downloads a payload as an inert attachment, and the audit log as inert CSV', async () => {
    const payload = await call('GET', `/api/v1/dead-letters/${letterId}/payload`, as('operator'));
    expect(payload.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(payload.headers.get('content-disposition')).toBe(
      `attachment; filename="dead-letter-${letterId}.json"`,
    );
    expect(payload.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    await call(
      'POST',
      `/api/v1/dead-letters/${letterId}/discard`,
      { ...as('operator'), ...json },
      JSON.stringify({ note: '=HYPERLINK("http://evil")' }),
    );
    await call('POST', `/api/v1/dead-letters/${letterId}/restore`, { ...as('operator'), ...json }, '{}');
    const csv = await (await call('GET', '/api/v1/audit/export', as('admin'))).text();
    expect(csv).toContain(`"'=HYPERLINK(""http://evil"")"`);
  });

  it('writes one audit row for each change, also for a refused one, in a chain that shows tampering', async () => {
    const audit = new AuditLog(admin.database);
    const count = async (): Promise<number> =>
      (await admin.database.read((m) => queryRows(m, 'SELECT id FROM audit_log'))).length;
    const before = await count();
    await call(
      'POST',
      `/api/v1/dead-letters/${letterId}/discard`,
      { ...as('operator'), ...json },
      '{"note":"why not"}',
    );
    await call('POST', `/api/v1/dead-letters/${letterId}/discard`, { ...as('operator'), ...json }, '{}');
    await call('POST', `/api/v1/dead-letters/${letterId}/restore`, { ...as('operator'), ...json }, '{}');
    const { items } = await new DlqClient({ url: admin.url, key: keys.operator }).audit({ limit: 3 });
    expect(await count()).toBe(before + 3);
    expect(items.map(({ action, result, reason }) => [action, result, reason])).toEqual([
      ['letter.restore', 'ok', null],
      ['letter.discard', 'refused', 'NOT_OPEN'],
      ['letter.discard', 'ok', 'why not'],
    ]);
    expect(items[2]).toMatchObject({
      actor: expect.stringContaining('operator ('),
      role: 'operator',
      target: `letter:${letterId}`,
      before: { status: 'open' },
      after: { status: 'discarded' },
    });
    expect(await audit.verifyChain()).toMatchObject({ state: 'intact' });
    const [row] = await admin.database.read((m) =>
      queryRows<{ id: number; reason: string }>(
        m,
        "SELECT id, reason FROM audit_log WHERE reason = 'why not'",
      ),
    );
    await admin.database.inTransaction((tx) =>
      execute(tx, "UPDATE audit_log SET reason = 'innocent' WHERE id = $1", [row?.id]),
    );
    expect(await audit.verifyChain()).toMatchObject({ state: 'broken', id: row?.id });
    await admin.database.inTransaction((tx) =>
      execute(tx, "UPDATE audit_log SET reason = 'why not' WHERE id = $1", [row?.id]),
    );
  });

  it('makes wrong keys wait longer and longer, with one answer for unknown and wrong ones', async () => {
    const wrong = `${keys.viewer.slice(0, -3)}AAA`;
    const unknown = `mr_${'0'.repeat(12)}_${'A'.repeat(43)}`;
    const answers = await Promise.all(
      [wrong, unknown, 'nonsense'].map(async (key) =>
        (await call('GET', '/api/v1/stats', { authorization: `Bearer ${key}` })).json(),
      ),
    );
    const plain = (answers as { traceId?: string }[]).map(({ traceId: _, ...rest }) => rest);
    expect(plain[0]).toEqual(plain[1]);
    expect(plain[1]).toEqual(plain[2]);
    let status = 0;
    for (let tries = 0; tries < 10 && status !== 429; tries++)
      status = (await call('GET', '/api/v1/stats', { authorization: `Bearer ${unknown}` })).status;
    expect(status).toBe(429);
    const blocked = await call('GET', '/api/v1/stats', as('viewer'));
    expect(Number(blocked.headers.get('retry-after'))).toBeGreaterThan(0);
    await eventually(async () => expect((await call('GET', '/api/v1/stats', as('viewer'))).status).toBe(200));
  });

  it('does not stall on a pathological search', async () => {
    await admin.send([deadLetter({ queue: 'q-long', data: { text: 'a'.repeat(50_000) } })]);
    const client = new DlqClient({ url: admin.url, key: keys.operator });
    await eventually(async () => expect((await client.count({ queue: 'q-long' })).count).toBe(1));
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    for (const text of ['(a+)+$', 'a'.repeat(200), '%a%a%a%a%'])
      await client.letters({ queue: 'q-long', text });
    await delay(10);
    clearInterval(timer);
    expect(longest).toBeLessThan(2_000);
    expect((await client.letters({ queue: 'q-long', text: 'a'.repeat(200) })).items).toHaveLength(1);
  });
});

function rawStatus(url: string, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method }, (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    });
    request.on('error', reject).end();
  });
}

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
  ])('refuses the configuration %j', (env) => {
    expect(() => loadConfig(groups, { env, cwd: '/nonexistent' })).toThrow(Object.keys(env)[0]);
  });

  it('without a key serves this machine only, says so, and refuses other hosts, proxies and plain forms', async () => {
    const { child, remove } = await start({});
    const { port } = await child.log({ msg: 'dlq-admin listening' });
    await child.log({ msg: 'dlq-admin started' });
    await child.output('only requests from this machine are served');
    const ask = (headers: Headers, method = 'GET', path = '/api/v1/stats'): Promise<number> =>
      new Promise((resolve, reject) => {
        httpRequest(
          { host: '127.0.0.1', port: Number(port), path, method, headers },
          (reply) => (reply.resume(), resolve(reply.statusCode ?? 0)),
        )
          .on('error', reject)
          .end();
      });
    expect(await ask({})).toBe(200);
    expect(await ask({ host: 'rebound.example' })).toBe(403);
    expect(await ask({ 'x-forwarded-for': '10.0.0.1' })).toBe(401);
    expect(await ask({}, 'POST', '/api/v1/keys')).toBe(403);
    expect((await child.end()).code).toBe(0);
    await remove();
  }, 60_000);
});

describe('limits of dlq-admin', () => {
  it('hold for all requests of a key, whatever address they claim, and say when to come back', async () => {
    const admin = await startDlqAdmin('sqlite', { env: { RATE_LIMIT_PER_MINUTE: '20' } });
    const statuses: number[] = [];
    let retryAfter = 0;
    for (let n = 0; n < 60; n++) {
      const reply = await fetch(`${admin.url}/api/v1/session`, { headers: { 'x-real-ip': `10.0.0.${n}` } });
      statuses.push(reply.status);
      if (reply.status === 429) retryAfter = Number(reply.headers.get('retry-after'));
    }
    expect(statuses).toContain(429);
    expect(retryAfter).toBeGreaterThan(0);
    expect((await fetch(`${admin.url}/health/live`)).status).toBe(200);
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
