import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { get } from 'node:http';
import { QUEUE } from '#contracts';
import { DlqProblemError, type DlqClient } from '#dlq-client';
import { eventually } from '#testing';
import { routesOf } from '../../apps/dlq-admin/src/http/routes.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from '../e2e/dlq-app.js';

/** On PostgreSQL, which refuses what SQLite shrugs off. */
describe('dlq-admin under attack', () => {
  let admin: TestDlqAdmin;
  let viewer: DlqClient;
  let letterId = 0;
  beforeAll(async () => {
    admin = await startDlqAdmin('postgres');
    await admin.send([
      deadLetter({ queue: QUEUE.filesToBatch, data: { fileId: 'hidden value', filePath: 7 } }),
      deadLetter({ queue: 'q-a' }),
    ]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(2));
    letterId = (await admin.client.letters({ queue: QUEUE.filesToBatch })).items[0]?.id ?? 0;
    viewer = (await admin.withKey({ role: 'viewer' })).client;
  }, 90_000);
  afterAll(() => admin.stop());

  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'no error',
      (error: unknown) => (error instanceof DlqProblemError ? error.code : String(error)),
    );
  const status = async (method: string, path: string, body?: string): Promise<number> => {
    const headers = {
      authorization: admin.authorization,
      'content-type': 'application/json',
      'if-match': '"1"',
    };
    return (await fetch(admin.url + path, { method, headers, body })).status;
  };

  it('lets an admin of some queues give, see and end keys for those only', async () => {
    const scoped = await admin.withKey({ role: 'admin', name: 'scoped', queues: ['q-a', 'q-b'] });
    const other = await admin.withKey({ role: 'viewer', queues: ['q-c'] });
    const give = (queues?: string[]): Promise<unknown> =>
      scoped.client.createKey({ name: 'given', role: 'admin', queues });
    expect(await codeOf(give())).toBe('SCOPE');
    expect(await codeOf(give(['q-a', 'q-c']))).toBe('SCOPE');
    expect(await codeOf(give(['q-b']))).toBe('no error');
    for (const id of [other.id, 'environment'])
      expect(await codeOf(scoped.client.revokeKey(id))).toBe('NOT_FOUND');
    const taking = { name: 'heir', role: 'viewer' as const, queues: ['q-a'], replaces: other.id };
    expect(await codeOf(scoped.client.createKey(taking))).toBe('NOT_FOUND');
    expect((await scoped.client.keys()).items.map(({ name }) => name).sort()).toEqual(['given', 'scoped']);
    expect(await codeOf(scoped.client.revokeKey(scoped.id))).toBe('no error');
  });

  it('ends the stream of a key that is revoked, and no other', async () => {
    const listen = async (key: string): Promise<{ ended: boolean; stop: () => void }> => {
      const stop = new AbortController();
      const url = `${admin.url}/api/v1/pipeline/stream`;
      const reply = await fetch(url, {
        headers: { authorization: `Bearer ${key}` },
        signal: stop.signal,
      });
      expect(reply.status).toBe(200);
      const state = { ended: false, stop: () => stop.abort() };
      void reply.text().then(
        () => (state.ended = true),
        () => {},
      );
      return state;
    };
    const [one, other] = [await admin.withKey({ role: 'viewer' }), await admin.withKey({ role: 'viewer' })];
    const [revoked, kept] = [await listen(one.key), await listen(other.key)];
    await admin.client.revokeKey(one.id);
    await eventually(() => expect(revoked.ended).toBe(true), { timeoutMs: 30_000 });
    expect(kept.ended).toBe(false);
    kept.stop();
  }, 60_000);

  it('serves one stream, which is bounded: no other route answers with one, and no connection is handed over', async () => {
    const others = routesOf(admin.app).filter(({ path }) => path !== '/api/v1/pipeline/stream');
    for (const { method, path } of others.filter((route) => route.method === 'GET')) {
      const headers = { authorization: admin.authorization, accept: 'text/event-stream' };
      const reply = await fetch(admin.url + path.replace(':id', '1'), { method, headers });
      expect([path, reply.headers.get('content-type')]).not.toEqual([
        path,
        expect.stringMatching(/event-stream/),
      ]);
      // Ends by itself.
      await reply.arrayBuffer();
    }
    const request = get(`${admin.url}/api/v1/stats`, {
      headers: {
        authorization: admin.authorization,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      },
    });
    const answer = await new Promise<string>((resolve, reject) => {
      request.on('response', (reply) => resolve(String(reply.resume().statusCode)));
      request.on('upgrade', () => resolve('upgraded'));
      request.on('error', reject);
    });
    expect(answer).toBe('200');
  });

  it('shows viewers no value of a payload, neither in faults nor in selections', async () => {
    const filter = { text: 'hidden value' };
    const { confirm } = await admin.client.preview({ kind: 'discard', filter });
    const { id } = await admin.client.startBulk({ kind: 'discard', filter, confirm });
    const seen = JSON.stringify([
      await viewer.letter(letterId),
      await viewer.bulkAction(id),
      await viewer.bulkActions(),
    ]);
    expect(seen).not.toContain('hidden value');
    expect(JSON.stringify(await admin.client.bulkAction(id))).toContain('hidden value');
    expect((await admin.client.letter(letterId)).faults.length).toBeGreaterThan(0);
  });

  it('takes no confirmation that it has not given to this key', async () => {
    const filter = { queue: 'q-a' };
    const { confirm = '' } = await admin.client.preview({ kind: 'requeue', filter });
    const [maxId, count] = confirm.split('.');
    const forged = createHash('sha256')
      .update(JSON.stringify(['requeue', [['queue', 'q-a']], [], Number(maxId), Number(count)]))
      .digest('hex');
    const operator = await admin.withKey({ role: 'operator' });
    const start = (client: DlqClient, token: string): Promise<string> =>
      codeOf(client.startBulk({ kind: 'requeue', filter, confirm: token }));
    expect(await start(admin.client, `${maxId}.${count}.${forged}`)).toBe('CONFIRM');
    expect(await start(operator.client, confirm)).toBe('CONFIRM');
    expect(await start(admin.client, confirm)).toBe('no error');
  });

  it('answers 400 to cursors, ids and texts that its database would choke on', async () => {
    const cursor = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const list of ['dead-letters', 'groups', 'bulk-actions', 'dead-events', 'audit'])
      for (const value of [
        [1, 'x\0y'],
        [1, {}],
        [1e300, 1],
        ['a', 'b'],
        [1, 1.5],
      ])
        expect([list, value, await status('GET', `/api/v1/${list}?cursor=${cursor(value)}`)]).toEqual([
          list,
          value,
          400,
        ]);
    expect(await status('GET', `/api/v1/dead-letters?cursor=${cursor([1, 'abc'])}`)).toBe(400);
    for (const id of ['9223372036854775808', '99999999999999999999', '-1', '1.5', 'x'])
      expect([id, await status('GET', `/api/v1/dead-letters/${id}`)]).toEqual([id, 400]);
    const nul = 'a\0b';
    const bodies: [string, string, object][] = [
      ['POST', `/api/v1/dead-letters/${letterId}/discard`, { note: nul }],
      ['POST', '/api/v1/keys', { name: nul, role: 'viewer' }],
      ['POST', '/api/v1/session', { key: nul }],
      ['POST', '/api/v1/bulk-actions', { kind: 'discard', dryRun: true, filter: { queue: nul } }],
      ['POST', '/api/v1/bulk-actions', { kind: 'discard', dryRun: true, ids: [1e300] }],
      ['POST', '/api/v1/bulk-actions', { kind: 'discard', dryRun: true, filter: { from: 1e300 } }],
    ];
    for (const [method, path, body] of bodies)
      expect([body, await status(method, path, JSON.stringify(body))]).toEqual([body, 400]);
  });

  it('does not take a list for a filter, nor a constructor for a field', async () => {
    for (const body of [
      { kind: 'discard', dryRun: true, filter: [] },
      { kind: 'discard', dryRun: true, filter: { constructor: {} } },
      { kind: 'discard', dryRun: true, filter: { payload: { prototype: 'x' } } },
      { kind: 'requeue', dryRun: true, filter: {}, canary: [] },
      { kind: 'requeue', dryRun: true, filter: {}, canary: { constructor: 1 } },
    ])
      expect([body, await status('POST', '/api/v1/bulk-actions', JSON.stringify(body))]).toEqual([body, 400]);
  });

  it('finds that the end of its audit log was cut off, by a row that it logged', async () => {
    const asked = async (query: string): Promise<unknown> =>
      (
        await fetch(`${admin.url}/api/v1/audit/verify${query}`, {
          headers: { authorization: admin.authorization },
        })
      ).json();
    const [last] = (await admin.client.audit({ limit: 1 })).items;
    expect(await asked(`?row=${last?.id}&hash=${last?.hash}`)).toMatchObject({ state: 'intact' });
    expect(await asked(`?row=${(last?.id ?? 0) + 1}&hash=${last?.hash}`)).toMatchObject({ state: 'broken' });
    expect(await status('GET', '/api/v1/audit/verify?row=7')).toBe(400);
  });
});
