import { askOtherTabs, away, identify, may, post, remove, session, setCsrf } from './api.js';
import { ago, duration } from './format.js';
import { Problem, useInterval } from './hooks.js';
import { helpDialog, installKeys } from './keys.js';
import { confirmDialog, Field, Form } from './parts/dialog.js';
import { Empty } from './parts/pieces.js';
import { html, render, useEffect, useErrorBoundary, useState, useStore } from './preact.js';
import { address, followLinks } from './router.js';
import { AuditView } from './views/audit.js';
import { BulkListView, BulkView } from './views/bulk.js';
import { DocsView } from './views/docs.js';
import { EventsView } from './views/events.js';
import { GroupsView, GroupView } from './views/groups.js';
import { KeysView } from './views/keys.js';
import { LetterView } from './views/letter.js';
import { LettersView } from './views/letters.js';
import { HomeView } from './views/pipeline.js';
import { QueuesView } from './views/queues.js';
import { BatchView, FileAtView, FileView } from './views/story.js';

/**
 * Addresses, their views and titles; for those in the bar, what it calls them and the least role that sees them there.
 * @type {[string, Function, string, string?, string?][]}
 */
const ROUTES = [
  ['/', HomeView, 'Pipeline', 'Pipeline', 'viewer'],
  ['/groups', GroupsView, 'Groups', 'Groups', 'viewer'],
  ['/groups/([0-9a-f]+)', GroupView, 'Group'],
  ['/letters', LettersView, 'Letters', 'Letters', 'viewer'],
  ['/letters/(\\d+)', LetterView, 'Letter'],
  ['/bulk', BulkListView, 'Bulk actions', 'Bulk', 'viewer'],
  ['/bulk/([0-9a-f-]+)', BulkView, 'Bulk action'],
  ['/batches/([0-9a-f-]+)', BatchView, 'Batch'],
  ['/files', FileAtView, 'File'],
  ['/files/(\\d+)', FileView, 'File'],
  ['/queues', QueuesView, 'Queues', 'Queues', 'viewer'],
  ['/events', EventsView, 'Dead events', 'Events', 'viewer'],
  ['/audit', AuditView, 'Audit', 'Audit', 'operator'],
  ['/keys', KeysView, 'Keys', 'Keys', 'admin'],
  ['/docs', DocsView, 'REST interface', 'REST', 'viewer'],
];
const matchOf = (path, form) => new RegExp(`^${form}$`).exec(path);

// Every page notices within this time that dlq-admin has gone, and that it is back.
const HEARTBEAT_MS = 3_000;

function App() {
  const who = useStore(session);
  const { path, params, visit } = useStore(address);
  const found = ROUTES.find(([form]) => matchOf(path, form));
  useEffect(() => {
    document.title = `${found?.[2] ?? 'Not found'} · Millrace`;
    if (visit > 1) document.getElementById('main')?.focus({ preventScroll: true });
  }, [visit]);
  useInterval(identify, who === null ? 0 : HEARTBEAT_MS);
  return html`
    ${who !== null && html`<${Bar} who=${who} here=${`/${path.split('/')[1]}`} />`}
    <${Silence} />
    <main id="main" tabindex="-1">
      ${who === null && html`<${Login} />`}
      ${who === undefined && html`<p class="muted">Loading…</p>`}
      ${who && html`<div class="view" key=${visit}><${Shielded} route=${found} path=${path} params=${params} /></div>`}
    </main>`;
}

/** A view that breaks leaves the rest of the page alone. */
function Shielded({ route, path, params }) {
  const [error] = useErrorBoundary();
  if (error) return html`<${Problem} error=${error} head="This page cannot be drawn." />`;
  if (!route) return html`<${Empty}>There is no such page.<//>`;
  const [form, View] = route;
  return html`<${View} params=${params} match=${matchOf(path, form).slice(1)} />`;
}

function Login() {
  const [error, setError] = useState(null);
  useEffect(() => document.getElementById('key').focus(), []);
  const signIn = async ({ key = '' }) => {
    setCsrf((await post('/session', { key })).csrfToken);
    await identify();
  };
  return html`
    <${Form} class="card login" submit=${(values) => signIn(values).catch(setError)} action="Sign in">
      <img src="/assets/icon.svg" alt="" width="44" height="44" />
      <h1>Millrace</h1>
      <p class="muted">Sign in with an API key. <code>millrace keys create</code> makes one.</p>
      <${Field} name="key" label="API key" type="password" autocomplete="off" required maxlength="512" placeholder="mr_…" />
      ${error && html`<${Problem} error=${error} head="" />`}
    <//>`;
}

/** Says that what is shown is old, and since when. */
function Silence() {
  const since = useStore(away);
  const [, redraw] = useState(0);
  useInterval(() => redraw((n) => n + 1), since ? 1_000 : 0);
  if (!since) return null;
  return html`<div class="silence" role="alert">dlq-admin does not answer, for ${duration(Date.now() - since)}. What you see is as it was ${ago(since)}; the page goes on by itself.</div>`;
}

function Bar({ who, here }) {
  const link = ([href, , , text = '', role = '']) =>
    role && may(role) && html`<a href=${href} aria-current=${here === href ? 'page' : undefined}>${text}</a>`;
  return html`
    <header class="bar">
      <a href="/" class="brand"><img src="/assets/icon.svg" alt="" width="22" height="22" /><span>Millrace</span></a>
      <nav aria-label="Main">${ROUTES.map(link)}</nav>
      <div class="row">
        ${who?.mode === 'loopback' && html`<span class="chip warn" title="AUTH is off: everybody on this machine is admin.">open on this machine</span>`}
        ${who && who.mode !== 'loopback' && html`<span class="muted">${who.name} · ${who.role}</span>`}
        <button class="quiet" aria-label="Switch between light and dark" title="Light or dark" onClick=${switchTheme}>◐</button>
        <button class="quiet" aria-label="Keyboard shortcuts" title="Shortcuts (?)" onClick=${helpDialog}>?</button>
        ${who?.mode === 'session' && html`<button class="quiet" onClick=${signOut}>Sign out</button>`}
      </div>
    </header>`;
}

const { style } = document.documentElement;

function switchTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  style.colorScheme = (style.colorScheme || dark) === 'dark' ? 'light' : 'dark';
  localStorage.setItem('millrace-theme', style.colorScheme);
}

async function signOut() {
  if (!(await confirmDialog('Sign out?', 'Sign out'))) return;
  await remove('/session').catch(() => {});
  setCsrf('');
  session.set(null);
}

/** A link with a code signs in once; the code is in the fragment, which no server and no log sees. */
async function redeemCode() {
  const code = /^#code=([\w-]{43})$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname + location.search);
  const signedIn = await post('/session', { code }).catch(() => null);
  if (signedIn) setCsrf(signedIn.csrfToken);
}

style.colorScheme = localStorage.getItem('millrace-theme') ?? '';
followLinks((path) => ROUTES.some(([form]) => matchOf(path, form)));
installKeys();
const root = document.getElementById('root');
root?.replaceChildren();
if (root) render(html`<${App} />`, root);
await redeemCode();
await askOtherTabs();
await identify();
