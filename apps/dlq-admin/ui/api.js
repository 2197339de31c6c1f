/** An answer other than success. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || `the server answered ${status}`);
    this.status = status;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
  }
}

// Goes with every request: browsers send the cookie to each port of this host, but storage is this origin's alone.
// Without the cookie, which script cannot read, the token opens nothing.
const STORED = 'millrace-csrf';
const ASK_MS = 150;
let csrf = globalThis.sessionStorage.getItem(STORED) ?? '';
const tabs = new globalThis.BroadcastChannel('millrace-csrf');
tabs.addEventListener('message', ({ data }) => {
  if (data === 'ask' && csrf) tabs.postMessage({ csrf });
  else if (data.csrf && !csrf) setCsrf(data.csrf);
});

export function setCsrf(token) {
  csrf = token ?? '';
  globalThis.sessionStorage.setItem(STORED, csrf);
}

/** A new tab takes the token over from one that is signed in. */
export async function askOtherTabs() {
  if (csrf) return;
  tabs.postMessage('ask');
  await new Promise((resolve) => {
    tabs.addEventListener('message', resolve, { once: true });
    setTimeout(resolve, ASK_MS);
  });
}

async function request(method, path, { query, body, headers, root = '/api/v1' } = {}) {
  const url = new URL(`${root}${path}`, globalThis.location.origin);
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
        ...(csrf && { 'x-csrf-token': csrf }),
        ...(changes && { 'idempotency-key': globalThis.crypto.randomUUID() }),
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

export const openApi = async () => (await request('GET', '/docs/openapi.json', { root: '' })).json();

/** Saves an answer as a file; a plain link could not carry the token. */
export async function download(path, name, root) {
  const blob = await (await request('GET', path, { root })).blob();
  const link = globalThis.document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
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
