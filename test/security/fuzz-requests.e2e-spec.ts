import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { DATABASE_KINDS, eventually, Random } from '#testing';
import { routesOf, type Route } from '../../apps/dlq-admin/src/http/routes.js';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from '../e2e/dlq-app.js';
import { seed, cpuSeconds, hostileText, hostileValue } from './hostile.js';

const REQUESTS_PER_ROUTE = 12;
const GIVE_UP_MS = 30_000;

interface Shot {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

interface Operation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: { $ref?: string; properties?: object } }> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object }> };
}

/** What the document tells of a route, so that shots hit what is read. */
function namesOf(document: Document, { method, path }: Route): { query: string[]; body: string[] } {
  const operation = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
  const schema = operation?.requestBody?.content['application/json']?.schema;
  const named = schema?.$ref ? document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema;
  return {
    query: (operation?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name),
    body: Object.keys(named?.properties ?? {}),
  };
}

function query(random: Random, names: readonly string[]): string {
  const pairs = Array.from({ length: random.between(0, 3) }, () => {
    const name = random.pick([...names, ...names, 'payload.a', 'limit', hostileText(random)]);
    return `${encoded(random, name)}=${encoded(random, hostileText(random))}`;
  });
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

/** Mostly as a client would; sometimes with escapes that mean nothing. */
function encoded(random: Random, text: string): string {
  const well = encodeURIComponent(Buffer.from(text).toString()).slice(0, 1_500);
  return random.next() < 0.1 ? `${well}%` : well;
}

/** What a header can carry at all: Node's client refuses the rest before it is sent. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '~').slice(0, 1_000);

function shot(
  random: Random,
  { method, path }: Route,
  names: ReturnType<typeof namesOf>,
  ids: readonly string[],
): Shot {
  const segment = random.next() < 0.5 ? random.pick(ids) : encoded(random, hostileText(random));
  const headers: Record<string, string> = { 'content-type': 'application/json', 'if-match': '"1"' };
  if (random.next() < 0.3)
    headers[
      random.pick([
        'if-match',
        'idempotency-key',
        'content-type',
        'origin',
        'cookie',
        'x-forwarded-for',
        'traceparent',
        'accept',
        'host',
        'content-encoding',
        'sec-fetch-site',
        'range',
      ])
    ] = headerText(hostileText(random));
  const value = JSON.stringify(hostileValue(random, names.body));
  const body = random.next() < 0.1 ? value.slice(0, value.length / 2) : value;
  return {
    method,
    path: path.replaceAll(/:\w+/g, segment) + query(random, names.query),
    headers,
    ...(!['GET', 'HEAD'].includes(method) && { body }),
  };
}

function fire(url: string, { method, path, headers, body }: Shot): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(
      {
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...length },
        signal: AbortSignal.timeout(GIVE_UP_MS),
      },
      (reply) => {
        let text = '';
        // A stream has no end of its own.
        if (reply.headers['content-type']?.startsWith('text/event-stream')) reply.destroy();
        reply.on('close', () => resolve({ status: reply.statusCode ?? 0, text }));
        reply.setEncoding('utf8');
        reply.on('data', (chunk: string) => (text += chunk));
        reply.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

describe.each(DATABASE_KINDS)(`dlq-admin under fuzz (MILLRACE_SEED=${seed}), on %s`, (kind) => {
  const random = new Random(seed);
  let admin: TestDlqAdmin;
  let document: Document;
  let ids: string[];
  beforeAll(async () => {
    admin = await startDlqAdmin(kind);
    await admin.send([deadLetter(), deadLetter(), deadLetter({ queue: 'q-b' })]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(3));
    const headers = { authorization: admin.authorization };
    document = (await (await fetch(`${admin.url}/docs/openapi.json`, { headers })).json()) as Document;
    const letters = (await admin.client.letters()).items;
    ids = letters.flatMap(({ id, group }) => [String(id), group]);
  }, 60_000);
  afterAll(() => admin.stop());

  it('answers every route as a request deserves: never 5xx, never with its insides, never late', async () => {
    const seen = new Set<number>();
    for (const route of routesOf(admin.app)) {
      const names = namesOf(document, route);
      for (let n = 0; n < REQUESTS_PER_ROUTE; n++) {
        const one = shot(random, route, names, ids);
        if (n > 0) one.headers.authorization ??= admin.authorization;
        let reply = { status: 0, text: '' };
        const seconds = await cpuSeconds(async () => (reply = await fire(admin.url, one)));
        seen.add(reply.status);
        const told = { seed, ...one, status: reply.status, text: reply.text.slice(0, 300) };
        expect({ ...told, ok: reply.status < 500 && seconds < 1 }).toEqual({ ...told, ok: true });
        if (reply.status >= 400)
          expect(reply.text).not.toMatch(/node_modules|\.[jt]s:\d+|SQLITE_|QueryFailed|SELECT .* FROM/);
      }
    }
    expect([...seen]).toEqual(expect.arrayContaining([200, 400, 401, 404]));
    expect((await fetch(`${admin.url}/health/live`)).status).toBe(200);
  }, 120_000);
});
