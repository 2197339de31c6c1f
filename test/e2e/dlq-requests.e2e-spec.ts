import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { AuditLog, execute, queryRows } from '#database';
import { DlqClient } from '#dlq-client';
import { eventually } from '#testing';
import { deadLetter, type TestDlqAdmin } from './dlq-app.js';
import { unguardAudit } from '../../libs/database/src/database.fixture.js';
import { Callers, JSON_BODY, problemOf, type Headers } from './dlq-callers.js';

describe('requests to dlq-admin', () => {
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
    expect(
      await send({ ...JSON_BODY, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(10_000_000, 32))),
    ).toBe(415);
    expect(await send(JSON_BODY, JSON.stringify({ note: 'x'.repeat(200_000) }))).toBe(413);
    expect(await send(JSON_BODY, `{"note":${'['.repeat(100)}${']'.repeat(100)}}`)).toBe(400);
    expect(await send(JSON_BODY, `{"a":[${Array(60_000).fill('1').join(',')}]}`)).toBe(413);
    expect(await send(JSON_BODY, `{"a":[${Array(49_000).fill('1').join(',')}]}`)).toBe(400);
    expect(await send(JSON_BODY, 'null')).toBe(400);
    expect(await send(JSON_BODY, '{"note":')).toBe(400);
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
      expect([body, await send(JSON_BODY, body)]).toEqual([body, 400]);
    const big = { payload: { text: 'y'.repeat(600_000) } };
    const edit = await call(
      'PATCH',
      `/api/v1/dead-letters/${letterId}/payload`,
      { ...as('operator'), ...JSON_BODY },
      JSON.stringify(big),
    );
    expect(await problemOf(edit)).toBe('VERSION_REQUIRED');
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
    const allowed = async (method: string, path: string): Promise<[number, string | null]> => {
      const reply = await call(method, path, as('admin'));
      return [reply.status, reply.headers.get('allow')];
    };
    expect(await allowed('DELETE', '/api/v1/stats')).toEqual([405, 'GET, HEAD']);
    expect(await allowed('PUT', '/api/v1/session')).toEqual([405, 'DELETE, GET, HEAD, POST']);
    expect(await allowed('PUT', '/api/v1/nothing')).toEqual([404, null]);
    const wanted = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const nothing = await call('GET', '/no/such/page', wanted);
    expect([nothing.status, nothing.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await nothing.text()).toContain('There is nothing at this address');
    expect(await problemOf(await call('GET', '/api/v1/nothing', wanted))).toBe('NOT_FOUND');
    expect(await problemOf(await call('GET', '/no/such/page'))).toBe('NOT_FOUND');
    const metrics = await (await call('GET', '/metrics', as('viewer'))).text();
    expect(metrics).toMatch(
      /millrace_http_request_duration_seconds_count\{method="GET",route="none",status="404"\} \d/,
    );
    expect(metrics).toMatch(/route="\/api\/v1\/dead-letters",status="200"/);
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
      { ...as('operator'), ...JSON_BODY },
      JSON.stringify({ note: '=HYPERLINK("http://evil")' }),
    );
    await call('POST', `/api/v1/dead-letters/${letterId}/restore`, { ...as('operator'), ...JSON_BODY }, '{}');
    const csv = await (await call('GET', '/api/v1/audit/export', as('admin'))).text();
    expect(csv).toContain(`"'=HYPERLINK(""http://evil"")"`);
  });

  it('writes one audit row for each change, also for a refused one, in a chain that shows tampering', async () => {
    const audit = new AuditLog(admin.database);
    await unguardAudit(admin.database);
    const count = async (): Promise<number> =>
      (await admin.database.read((m) => queryRows(m, 'SELECT id FROM audit_log'))).length;
    const before = await count();
    await call(
      'POST',
      `/api/v1/dead-letters/${letterId}/discard`,
      { ...as('operator'), ...JSON_BODY },
      '{"note":"why not"}',
    );
    await call('POST', `/api/v1/dead-letters/${letterId}/discard`, { ...as('operator'), ...JSON_BODY }, '{}');
    await call('POST', `/api/v1/dead-letters/${letterId}/restore`, { ...as('operator'), ...JSON_BODY }, '{}');
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

  it('does not stall on a pathological search', async () => {
    await admin.send([deadLetter({ queue: 'q-long', data: { text: 'a'.repeat(50_000) } })]);
    const client = new DlqClient({ url: admin.url, key: keys.operator });
    await eventually(async () => expect((await client.count({ queue: 'q-long' })).count).toBe(1));
    // Of the processor's time: a busy machine stalls everybody.
    let longest = 0;
    let last = process.cpuUsage().user;
    const timer = setInterval(() => {
      longest = Math.max(longest, process.cpuUsage().user - last);
      last = process.cpuUsage().user;
    }, 5);
    for (const text of ['(a+)+$', 'a'.repeat(200), '%a%a%a%a%'])
      await client.letters({ queue: 'q-long', text });
    await delay(10);
    clearInterval(timer);
    expect(longest).toBeLessThan(2_000_000);
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
