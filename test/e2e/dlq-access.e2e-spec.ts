import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { execute, queryRows } from '#database';
import { DlqClient, ROLES, type Role } from '#dlq-client';
import { routesOf, type Route } from '../../apps/dlq-admin/src/http/routes.js';
import type { TestDlqAdmin } from './dlq-app.js';
import { Callers, JSON_BODY, type Headers } from './dlq-callers.js';

describe('access to dlq-admin', () => {
  let callers: Callers;
  let admin: TestDlqAdmin;
  let keys: Callers['keys'];
  let letterId: number;
  let call: Callers['call'];
  let as: Callers['as'];

  beforeAll(async () => {
    callers = await Callers.start();
    ({ admin, keys, letterId, call, as } = callers);
  }, 60_000);
  afterAll(() => admin.stop());

  // The least role for each route: what people have agreed to. A route that is not here fails.
  const LEAST: Record<string, Role | 'public'> = {
    'GET /health/live': 'public',
    'GET /health/ready': 'public',
    'GET /health/startup': 'public',
    'POST /api/v1/session': 'public',
    'GET /metrics': 'viewer',
    'POST /api/v1/session/codes': 'viewer',
    'GET /docs/openapi.json': 'viewer',
    'GET /api/v1/pipeline': 'viewer',
    'GET /api/v1/pipeline/stream': 'viewer',
    'GET /api/v1/queues': 'viewer',
    'POST /api/v1/queues/:id/pause': 'operator',
    'POST /api/v1/queues/:id/resume': 'operator',
    'GET /api/v1/queues/:id/delayed': 'viewer',
    'POST /api/v1/queues/:id/promote': 'operator',
    'GET /api/v1/files': 'operator',
    'GET /api/v1/files/:id': 'operator',
    'GET /api/v1/batches/:id': 'operator',
    'GET /api/v1/session': 'viewer',
    'DELETE /api/v1/session': 'viewer',
    'GET /api/v1/stats': 'viewer',
    'GET /api/v1/groups': 'viewer',
    'GET /api/v1/groups/:id': 'viewer',
    'PATCH /api/v1/groups/:id': 'operator',
    'POST /api/v1/groups/:id/merge': 'operator',
    'POST /api/v1/groups/:id/split': 'operator',
    'POST /api/v1/alerts/acknowledge': 'operator',
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
    'POST /api/v1/bulk-actions/:id/continue': 'operator',
    'POST /api/v1/bulk-actions/:id/approve': 'operator',
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
  /** The routes and rules of the OpenAPI document, as anybody reads it. */
  const documented = async (): Promise<(Route & { rule: string | undefined })[]> => {
    const reply = await call('GET', '/docs/openapi.json', as('viewer'));
    const { paths } = (await reply.json()) as {
      paths: Record<string, Record<string, { 'x-role'?: string }>>;
    };
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: path.replace(/\{(\w+)\}/, ':$1'),
        rule: operation['x-role'],
      })),
    );
  };
  const ask = async (route: Route, headers: Headers): Promise<number> => {
    const safe = route.method === 'GET' || route.method === 'HEAD';
    const sent = { ...headers, ...(safe ? {} : JSON_BODY) };
    const reply = await call(route.method, at(route), sent, safe ? undefined : '{}');
    // A stream has no end of its own.
    if (reply.headers.get('content-type')?.startsWith('text/event-stream')) await reply.body?.cancel();
    else await reply.arrayBuffer();
    return reply.status;
  };

  it('has a rule for every route that the router knows, and the document tells it', async () => {
    const rules = Object.fromEntries((await documented()).map((route) => [nameOf(route), route.rule]));
    expect(rules).toEqual(LEAST);
    expect(routesOf(admin.app).map(nameOf).sort()).toEqual(Object.keys(rules).sort());
  });

  it('is refused without a key on every route that the document tells of, probes and signing in excepted', async () => {
    const routes = (await documented()).filter(({ rule }) => rule !== 'public');
    expect(routes.length).toBeGreaterThan(25);
    for (const route of routes) expect([nameOf(route), await ask(route, {})]).toEqual([nameOf(route), 401]);
  });

  it('follows the role on every route: too little is 403, enough is anything but 401 and 403', async () => {
    for (const route of await documented()) {
      if (route.rule === 'public') continue;
      // Without a rule: for admins only.
      const least = (route.rule ?? 'admin') as Role;
      for (const role of ROLES) {
        if (nameOf(route) === 'DELETE /api/v1/session' && role !== 'viewer') continue;
        const status = await ask(route, as(role));
        const enough = ROLES.indexOf(role) >= ROLES.indexOf(least);
        const right = enough ? ![401, 403, 500].includes(status) : status === 403;
        expect([nameOf(route), role, right]).toEqual([nameOf(route), role, true]);
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
    const signedIn = await call('POST', '/api/v1/session', JSON_BODY, JSON.stringify({ key }));
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const { csrfToken } = (await signedIn.json()) as { csrfToken: string };
    const session = { cookie, 'x-csrf-token': csrfToken };
    expect((await call('GET', '/api/v1/stats', session)).status).toBe(200);
    await new DlqClient({ url: admin.url, key: keys.admin }).revokeKey(id);
    await expect(client.stats()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    expect((await call('GET', '/api/v1/stats', session)).status).toBe(401);
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
      expect(callers.logged()).not.toContain(key);
      expect(dump).not.toContain(key.slice('mr_'.length + 12 + 1));
    }
    for (const name of ['api_key', 'apikey', 'key', 'token', 'access_token'])
      expect((await call('GET', `/api/v1/stats?${name}=x`, as('viewer'))).status).toBe(400);
  });

  it('gives browsers a cookie that only they and only this origin can use', async () => {
    const reply = await call('POST', '/api/v1/session', JSON_BODY, JSON.stringify({ key: keys.operator }));
    const header = reply.headers.get('set-cookie') ?? '';
    expect(header).toMatch(
      /^__Host-millrace=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Strict$/,
    );
    const cookie = header.split(';')[0] ?? '';
    const { csrfToken } = (await reply.json()) as { csrfToken: string };
    const discard = `/api/v1/dead-letters/${letterId}/discard`;
    expect((await call('POST', discard, { ...JSON_BODY, cookie }, '{}')).status).toBe(403);
    expect(
      (await call('POST', discard, { ...JSON_BODY, cookie, 'x-csrf-token': 'x'.repeat(43) }, '{}')).status,
    ).toBe(403);
    expect(
      (
        await call(
          'POST',
          discard,
          { ...JSON_BODY, cookie, 'x-csrf-token': csrfToken, origin: 'https://evil.example' },
          '{}',
        )
      ).status,
    ).toBe(403);
    expect(
      (
        await call(
          'POST',
          discard,
          { ...JSON_BODY, cookie, 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' },
          '{}',
        )
      ).status,
    ).toBe(403);
    expect(
      (await call('POST', discard, { ...JSON_BODY, cookie, 'x-csrf-token': csrfToken }, '{}')).status,
    ).toBe(200);
    expect(
      (
        await call(
          'POST',
          `/api/v1/dead-letters/${letterId}/restore`,
          { ...JSON_BODY, cookie, 'x-csrf-token': csrfToken },
          '{}',
        )
      ).status,
    ).toBe(200);
    // Another port of this host gets the cookie, but neither learns the token nor can do without it.
    expect((await call('GET', '/api/v1/session', { cookie })).status).toBe(401);
    const shown = await call('GET', '/api/v1/session', { cookie, 'x-csrf-token': csrfToken });
    expect(await shown.json()).toMatchObject({ mode: 'session', csrfToken: null });
    const derived = createHash('sha256')
      .update(`csrf\0${cookie.split('=')[1]}`)
      .digest('base64url');
    expect((await call('GET', '/api/v1/stats', { cookie, 'x-csrf-token': derived })).status).toBe(401);
    expect(
      (await call('DELETE', '/api/v1/session', { ...JSON_BODY, cookie, 'x-csrf-token': csrfToken }, '{}'))
        .status,
    ).toBe(200);
    expect((await call('GET', '/api/v1/stats', { cookie, 'x-csrf-token': csrfToken })).status).toBe(401);
  });

  it('can be had by a code that works once, not after its hour, and is not a key', async () => {
    const codeOf = async (): Promise<string> =>
      (await new DlqClient({ url: admin.url, key: keys.operator }).signInCode()).code;
    const signIn = (body: object): Promise<Response> =>
      call('POST', '/api/v1/session', JSON_BODY, JSON.stringify(body));
    const code = await codeOf();
    const first = await signIn({ code });
    expect(await first.json()).toMatchObject({ mode: 'session', name: 'operator', role: 'operator' });
    expect((await signIn({ code })).status).toBe(401);
    const unused = await codeOf();
    expect((await call('GET', '/api/v1/stats', { cookie: `__Host-millrace=${unused}` })).status).toBe(401);
    expect((await call('GET', '/api/v1/stats', { authorization: `Bearer ${unused}` })).status).toBe(401);
    await admin.database.inTransaction((tx) => execute(tx, 'UPDATE sessions SET expires_at = 1', []));
    expect((await signIn({ code: unused })).status).toBe(401);
    for (const body of [{}, { code: 'x' }, { code: 7 }, { key: '' }])
      expect((await signIn(body)).status).toBe(400);
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
    // A right key is let in meanwhile, and makes up for no guess.
    expect((await call('GET', '/api/v1/stats', as('viewer'))).status).toBe(200);
    const signIn = await call('POST', '/api/v1/session', JSON_BODY, JSON.stringify({ key: keys.viewer }));
    expect(signIn.status).toBe(200);
    const guess = await call('GET', '/api/v1/stats', { authorization: `Bearer ${unknown}` });
    expect([guess.status, Number(guess.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });
});
