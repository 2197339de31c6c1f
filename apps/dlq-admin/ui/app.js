import { askOtherTabs, get, post, Refusal, remove, setCsrf } from './api.js';
import { byId, document, h, history, location, replace, window } from './dom.js';
import { confirmDialog, helpDialog } from './parts/dialog.js';
import { installKeys } from './keys.js';
import { may, session } from './state.js';
import { auditView } from './views/audit.js';
import { bulkListView, bulkView } from './views/bulk.js';
import { eventsView } from './views/events.js';
import { groupsView, groupView } from './views/groups.js';
import { keysView } from './views/keys.js';
import { letterView } from './views/letter.js';
import { lettersView } from './views/letters.js';
import { loginView } from './views/login.js';
import { overviewView } from './views/overview.js';

const ROUTES = [
  [/^\/$/, overviewView, 'Overview'],
  [/^\/groups$/, groupsView, 'Groups'],
  [/^\/groups\/([0-9a-f]+)$/, groupView, 'Group'],
  [/^\/letters$/, lettersView, 'Letters'],
  [/^\/letters\/(\d+)$/, letterView, 'Letter'],
  [/^\/bulk$/, bulkListView, 'Bulk actions'],
  [/^\/bulk\/([0-9a-f-]+)$/, bulkView, 'Bulk action'],
  [/^\/events$/, eventsView, 'Dead events'],
  [/^\/audit$/, auditView, 'Audit'],
  [/^\/keys$/, keysView, 'Keys'],
];

const NAV = [
  ['/', 'Overview', 'viewer'],
  ['/groups', 'Groups', 'viewer'],
  ['/letters', 'Letters', 'viewer'],
  ['/bulk', 'Bulk actions', 'viewer'],
  ['/events', 'Dead events', 'viewer'],
  ['/audit', 'Audit', 'operator'],
  ['/keys', 'Keys', 'admin'],
];

let leave = () => {};
let visit = 0;

/** Shows the view of the present address. A view may return what to do when it is left. */
export async function show() {
  leave();
  leave = () => {};
  const mine = ++visit;
  const [route, match] =
    ROUTES.map((one) => [one, one[0].exec(location.pathname)]).find(([, found]) => found) ?? [];
  const main = byId('main');
  document.title = `${route?.[2] ?? 'Not found'} · Millrace`;
  drawBar();
  if (!route) return void replace(main, h('p', { class: 'empty' }, 'There is no such page.'));
  const stage = h('div', { class: 'view' }, h('p', { class: 'loading' }, 'Loading…'));
  replace(main, stage);
  try {
    const done = await route[1](stage, match.slice(1));
    if (mine === visit) leave = done ?? (() => {});
    else done?.();
  } catch (error) {
    if (mine === visit) failed(stage, error);
  }
}

function failed(stage, error) {
  if (error instanceof Refusal && error.status === 401) return void start();
  replace(
    stage,
    h(
      'div',
      { class: 'notice bad', role: 'alert' },
      h('strong', {}, 'That did not work. '),
      error.message ?? String(error),
    ),
    h('p', {}, h('button', { on: { click: () => show() } }, 'Try again')),
  );
}

/** Goes to an address within the page. */
export function go(address) {
  history.pushState(null, '', address);
  window.scrollTo(0, 0);
  return show().then(() => byId('main').focus({ preventScroll: true }));
}

function drawBar() {
  const here = `/${location.pathname.split('/')[1]}`;
  const link = ([href, text]) =>
    h(
      'a',
      { href, class: here === href ? 'current' : '', 'aria-current': here === href ? 'page' : undefined },
      text,
    );
  replace(
    byId('bar'),
    h(
      'a',
      { href: '/', class: 'brand' },
      h('img', { src: '/assets/icon.svg', alt: '', width: 22, height: 22 }),
      h('span', {}, 'Millrace'),
      h('small', {}, 'dead letters'),
    ),
    h('nav', { 'aria-label': 'Main' }, NAV.filter(([, , role]) => may(role)).map(link)),
    h(
      'div',
      { class: 'who' },
      session.mode === 'loopback'
        ? h(
            'span',
            { class: 'chip warn', title: 'AUTH is off: everybody on this machine is admin.' },
            'open on this machine',
          )
        : h('span', { class: 'muted' }, `${session.name} · ${session.role}`),
      h(
        'button',
        {
          class: 'quiet',
          'aria-label': 'Switch between light and dark',
          title: 'Light or dark',
          on: { click: switchTheme },
        },
        '◐',
      ),
      h(
        'button',
        {
          class: 'quiet',
          'aria-label': 'Keyboard shortcuts',
          title: 'Shortcuts (?)',
          on: { click: helpDialog },
        },
        '?',
      ),
      session.mode === 'session' && h('button', { class: 'quiet', on: { click: signOut } }, 'Sign out'),
    ),
  );
}

function switchTheme() {
  const chosen = document.documentElement.dataset.theme;
  const dark = chosen ? chosen === 'dark' : window.matchMedia('(prefers-color-scheme: dark)').matches;
  setTheme(dark ? 'light' : 'dark');
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  window.localStorage.setItem('millrace-theme', theme);
}

async function signOut() {
  if (!(await confirmDialog('Sign out?', 'Sign out'))) return;
  await remove('/session').catch(() => {});
  setCsrf('');
  await start();
}

/** A link with a code signs in once; the code is in the fragment, which no server and no log sees. */
async function redeemCode() {
  const code = /^#code=([\w-]{43})$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname + location.search);
  const signedIn = await post('/session', { code }).catch(() => null);
  if (signedIn) setCsrf(signedIn.csrfToken);
}

/** Finds out who this is, and asks for a key when nobody is signed in. */
async function start() {
  try {
    Object.assign(session, await get('/session'));
    if (session.csrfToken) setCsrf(session.csrfToken);
    await show();
  } catch (error) {
    leave();
    replace(byId('bar'));
    if (error instanceof Refusal && error.status === 401) loginView(byId('main'), start);
    else failed(byId('main'), error);
  }
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey)
    return;
  const url = new URL(link.href);
  if (
    url.origin !== location.origin ||
    link.hasAttribute('download') ||
    link.getAttribute('href').startsWith('#')
  )
    return;
  if (!ROUTES.some(([path]) => path.test(url.pathname))) return;
  event.preventDefault();
  void go(url.pathname + url.search);
});
window.addEventListener('popstate', () => void show());
const theme = window.localStorage.getItem('millrace-theme');
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
installKeys(go);
await redeemCode();
await askOtherTabs();
await start();
