/** An answer other than success. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || `the server answered ${status}`);
    this.status = status;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
  }
}

// Kept in memory only: the page forgets it when it is closed.
let csrf = '';
export const setCsrf = (token) => (csrf = token ?? '');

async function request(method, path, { query, body, headers } = {}) {
  const url = new URL(`/api/v1${path}`, globalThis.location.origin);
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, value);
  const changes = method !== 'GET' && method !== 'HEAD';
  let reply;
  try {
    reply = await fetch(url, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(changes && { 'x-csrf-token': csrf, 'idempotency-key': globalThis.crypto.randomUUID() }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, { detail: 'dlq-admin does not answer; check that it runs', code: 'UNREACHABLE' });
  }
  if (!reply.ok) throw new Refusal(reply.status, await reply.json().catch(() => ({})));
  return reply;
}

export const get = async (path, query) => (await request('GET', path, { query })).json();
export const post = async (path, body = {}, headers) =>
  (await request('POST', path, { body, headers })).json();
export const patch = async (path, body, headers) => (await request('PATCH', path, { body, headers })).json();
export const remove = async (path) => (await request('DELETE', path, { body: {} })).json();

export async function countLetters(query) {
  const { headers } = await request('HEAD', '/dead-letters', { query });
  return {
    count: Number(headers.get('x-total-count')),
    exact: headers.get('x-total-count-exact') === 'true',
  };
}
