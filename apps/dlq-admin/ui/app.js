import { askOtherTabs, away, identify, may, post, remove, session, setCsrf } from './api.js';
import { ago, duration } from './format.js';
import { Problem } from './hooks.js';
import { installKeys } from './keys.js';
import { confirmDialog, helpDialog } from './parts/dialog.js';
import { Empty } from './parts/pieces.js';
import { html, render, useEffect, useErrorBoundary, useState, useStore } from './preact.js';
import { address, followLinks } from './router.js';
import { AuditView } from './views/audit.js';
import { BatchView } from './views/batch.js';
import { BulkListView, BulkView } from './views/bulk.js';
import { DocsView } from './views/docs.js';
import { EventsView } from './views/events.js';
import { FileAtView, FileView } from './views/file.js';
import { GroupsView, GroupView } from './views/groups.js';
import { KeysView } from './views/keys.js';
import { LetterView } from './views/letter.js';
import { LettersView } from './views/letters.js';
import { LoginView } from './views/login.js';
import { HomeView } from './views/pipeline.js';
import { QueuesView } from './views/queues.js';

/** @type {[RegExp, Function, string][]} */
const ROUTES = [
  [/^\/$/, HomeView, 'Pipeline'],
  [/^\/groups$/, GroupsView, 'Groups'],
  [/^\/groups\/([0-9a-f]+)$/, GroupView, 'Group'],
  [/^\/letters$/, LettersView, 'Letters'],
  [/^\/letters\/(\d+)$/, LetterView, 'Letter'],
  [/^\/bulk$/, BulkListView, 'Bulk actions'],
  [/^\/bulk\/([0-9a-f-]+)$/, BulkView, 'Bulk action'],
  [/^\/batches\/([0-9a-f-]+)$/, BatchView, 'Batch'],
  [/^\/files\/(\d+)$/, FileView, 'File'],
  [/^\/files$/, FileAtView, 'File'],
  [/^\/queues$/, QueuesView, 'Queues'],
  [/^\/events$/, EventsView, 'Dead events'],
  [/^\/audit$/, AuditView, 'Audit'],
  [/^\/keys$/, KeysView, 'Keys'],
  [/^\/docs$/, DocsView, 'REST interface'],
];

/** @type {[string, string, string][]} */
const NAV = [
  ['/', 'Pipeline', 'viewer'],
  ['/groups', 'Groups', 'viewer'],
  ['/letters', 'Letters', 'viewer'],
  ['/bulk', 'Bulk', 'viewer'],
  ['/queues', 'Queues', 'viewer'],
  ['/events', 'Events', 'viewer'],
  ['/audit', 'Audit', 'operator'],
  ['/keys', 'Keys', 'admin'],
  ['/docs', 'REST', 'viewer'],
];
// Every page notices within this time that dlq-admin has gone, and that it is back.
const HEARTBEAT_MS = 3_000;

function App() {
  const who = useStore(session);
  const { path, params, visit } = useStore(address);
  const found = ROUTES.map(([form, View, title]) => ({ match: form.exec(path), View, title })).find(
    ({ match }) => match,
  );
  useEffect(() => {
    document.title = `${found?.title ?? 'Not found'} · Millrace`;
    if (visit > 1) document.getElementById('main')?.focus({ preventScroll: true });
  }, [visit]);
  useEffect(() => {
    const timer = setInterval(() => session.get() !== null && identify(), HEARTBEAT_MS);
    return () => clearInterval(timer);
  }, []);
  return html`
    ${who !== null && html`<${Bar} who=${who} here=${`/${path.split('/')[1]}`} />`}
    <${Silence} />
    <main id="main" tabindex="-1">
      ${
        who === null
          ? html`<${LoginView} />`
          : html`<div class="view" key=${visit}>${
              who === undefined
                ? html`<p class="loading">Loading…</p>`
                : html`<${Shielded} of=${found} params=${params} />`
            }</div>`
      }
    </main>`;
}

/** A view that breaks leaves the rest of the page alone. */
function Shielded({ of, params }) {
  const [error] = useErrorBoundary();
  if (error) return html`<${Problem} error=${error} head="This page cannot be drawn." />`;
  if (!of) return html`<${Empty}>There is no such page.<//>`;
  return html`<${of.View} params=${params} match=${of.match.slice(1)} />`;
}

/** Says that what is shown is old, and since when. */
function Silence() {
  const since = useStore(away);
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = since && setInterval(() => redraw((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  if (!since) return null;
  return html`<div class="silence" role="alert">dlq-admin does not answer, for ${duration(Date.now() - since)}. What you see is as it was ${ago(since)}; the page goes on by itself.</div>`;
}

function Bar({ who, here }) {
  const link = (href, text) =>
    html`<a href=${href} class=${here === href ? 'current' : ''} aria-current=${here === href ? 'page' : undefined}>${text}</a>`;
  return html`
    <header class="bar">
      <a href="/" class="brand"><img src="/assets/icon.svg" alt="" width="22" height="22" /><span>Millrace</span></a>
      <nav aria-label="Main">${NAV.filter(([, , role]) => may(role)).map(([href, text]) => link(href, text))}</nav>
      <div class="who">
        ${who?.mode === 'loopback' && html`<span class="chip warn" title="AUTH is off: everybody on this machine is admin.">open on this machine</span>`}
        ${who && who.mode !== 'loopback' && html`<span class="muted">${who.name} · ${who.role}</span>`}
        <button class="quiet" aria-label="Switch between light and dark" title="Light or dark" onClick=${switchTheme}>◐</button>
        <button class="quiet" aria-label="Keyboard shortcuts" title="Shortcuts (?)" onClick=${helpDialog}>?</button>
        ${who?.mode === 'session' && html`<button class="quiet" onClick=${signOut}>Sign out</button>`}
      </div>
    </header>`;
}

function switchTheme() {
  const chosen = document.documentElement.dataset.theme;
  const dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  localStorage.setItem('millrace-theme', dark ? 'light' : 'dark');
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

const theme = localStorage.getItem('millrace-theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
followLinks((path) => ROUTES.some(([form]) => form.test(path)));
installKeys();
const root = document.getElementById('root');
root?.replaceChildren();
if (root) render(html`<${App} />`, root);
await redeemCode();
await askOtherTabs();
await identify();
