import { store } from './preact.js';

/** An answer other than success. */
class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || `the server answered ${status}`);
    this.status = status;
    this.code = problem.code;
    /** @type {{ path: string, message: string }[]} */
    this.errors = problem.errors ?? [];
  }
}

/** Since when dlq-admin does not answer; 0 while it does. */
export const away = store(0);

/** Who is signed in: undefined until that is known, null when nobody is. @import { SessionView } from '#dlq-client' */
export const session = store(/** @type {SessionView | null | undefined} */ (undefined));

const ROLES = ['viewer', 'operator', 'admin'];
export const may = (role) => ROLES.indexOf(session.get()?.role ?? 'viewer') >= ROLES.indexOf(role);

// Goes with every request: browsers send the cookie to each port of this host, but storage is this origin's alone.
// Without the cookie, which script cannot read, the token opens nothing.
const STORED = 'millrace-csrf';
const ASK_MS = 150;
let csrf = sessionStorage.getItem(STORED) ?? '';
const tabs = new BroadcastChannel('millrace-csrf');
tabs.addEventListener('message', ({ data }) => {
  if (data === 'ask' && csrf) tabs.postMessage({ csrf });
  else if (data.csrf && !csrf) {
    setCsrf(data.csrf);
    // The answer came late, and the way in is shown by now.
    if (session.get() === null) void identify();
  }
});

export function setCsrf(token) {
  csrf = token ?? '';
  sessionStorage.setItem(STORED, csrf);
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

/** Finds out who this is; called again, whether dlq-admin still answers. */
export async function identify() {
  try {
    const found = await get('/session');
    if (found.csrfToken) setCsrf(found.csrfToken);
    if (JSON.stringify(found) !== JSON.stringify(session.get())) session.set(found);
  } catch {
    // A refusal has ended the session, and silence is told by `away`.
  }
}

function addressOf(path, { query = {} }) {
  const url = new URL(path.startsWith('/docs/') ? path : `/api/v1${path}`, location.origin);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(name, value);
  return url;
}

function headersOf(method, { body = undefined, headers = {} }) {
  return {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(csrf && { 'x-csrf-token': csrf }),
    ...(method !== 'GET' && method !== 'HEAD' && { 'idempotency-key': crypto.randomUUID() }),
    ...headers,
  };
}

const SILENT = { detail: 'dlq-admin does not answer; check that it runs', code: 'UNREACHABLE' };
// What a proxy says for a server that does not answer.
const PROXIED = [502, 503, 504];

/** @param {{ query?: object, body?: unknown, headers?: object }} [call] */
async function request(method, path, call = {}) {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  const headers = headersOf(method, call);
  const reply = await fetch(addressOf(path, call), { method, headers, body }).catch(() => null);
  const problem = reply?.ok ? null : await reply?.json().catch(() => null);
  const silent = !reply || (PROXIED.includes(reply.status) && !problem);
  if (silent !== away.get() > 0) away.set(silent ? Date.now() : 0);
  if (silent) throw new Refusal(0, SILENT);
  if (reply.status === 401) session.set(null);
  if (!reply.ok) throw new Refusal(reply.status, problem ?? {});
  return reply;
}

/** Saves an answer as a file; a plain link could not carry the token. */
export async function download(path, name) {
  const blob = await (await request('GET', path)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export const get = async (path, query = {}) => (await request('GET', path, { query })).json();
const sender =
  (method) =>
  async (path, body = {}, headers = {}) =>
    (await request(method, path, { body, headers })).json();
export const post = sender('POST');
export const patch = sender('PATCH');
export const remove = sender('DELETE');

export async function countLetters(query) {
  const { headers } = await request('HEAD', '/dead-letters', { query });
  const exact = headers.get('x-total-count-exact') === 'true';
  return { count: Number(headers.get('x-total-count')), exact };
}
