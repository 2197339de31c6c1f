import { store } from './preact.js';

let visits = 0;
const here = () => {
  const { pathname: path, search } = location;
  return { path, params: new URLSearchParams(search), visit: ++visits };
};

/** Where the page is. Every visit is a new one, also of the same address. */
export const address = store(here());

/** @type {null | (() => Promise<unknown>)} */
let guard = null;
let before = location.href;

/** Until it is taken off, `ask` decides whether the page may be left. */
export function guardLeaving(ask) {
  guard = ask;
  const stay = (event) => event.preventDefault();
  addEventListener('beforeunload', stay);
  return () => {
    guard = null;
    removeEventListener('beforeunload', stay);
  };
}

/** Goes to an address within the page. */
export async function go(to) {
  if (guard && !(await guard())) return;
  guard = null;
  history.pushState(null, '', to);
  arrive();
  scrollTo(0, 0);
}

function arrive() {
  before = location.href;
  address.set(here());
}

addEventListener('popstate', async () => {
  if (guard) {
    const wanted = location.href;
    history.pushState(null, '', before);
    if (!(await guard())) return;
    guard = null;
    history.replaceState(null, '', wanted);
  }
  arrive();
});

/** Links of the page lead within it; `serves` tells which addresses are its own. */
export function followLinks(serves) {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href]');
    const other = event.button || event.metaKey || event.ctrlKey || event.shiftKey;
    if (!(link instanceof HTMLAnchorElement) || other || event.defaultPrevented) return;
    const url = new URL(link.href);
    const own = url.origin === location.origin && serves(url.pathname);
    if (!own || link.getAttribute('href')?.startsWith('#')) return;
    event.preventDefault();
    void go(url.pathname + url.search);
  });
}
