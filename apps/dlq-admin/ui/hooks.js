import { away } from './api.js';
import { html, useEffect, useLayoutEffect, useRef, useState, useStore } from './preact.js';
import { bindKeys } from './keys.js';

/**
 * What `load` gives, read again every `everyMs`, when dlq-admin is back, and on `reload`. A failed reading leaves what was
 * shown, and says so.
 * @template T
 * @param {() => Promise<T>} load
 * @param {number} [everyMs]
 */
export function useData(load, everyMs) {
  const silence = useStore(away);
  const [state, set] = useState(/** @type {{ value?: T, error?: any }} */ ({}));
  const live = useRef(true);
  const reload = async () => {
    const next = await load().then(
      (value) => ({ value, error: undefined }),
      (error) => ({ error }),
    );
    if (live.current) set((old) => ({ value: old.value, ...next }));
  };
  useEffect(() => () => void (live.current = false), []);
  useEffect(() => void (silence || reload()), [silence]);
  useInterval(reload, silence ? 0 : everyMs);
  return { ...state, reload, show: (draw) => shown(state, draw, reload) };
}

/** Does `action` every `ms` while somebody looks; with 0, not now. */
export function useInterval(action, ms) {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const timer = ms && setInterval(() => void (document.hidden || latest.current()), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** @param {{ value?: any, error?: any }} state */
function shown({ value, error }, draw, reload) {
  const silent = error?.code === 'UNREACHABLE';
  if (value !== undefined)
    return html`${error && !silent && html`<${Problem} error=${error} head="Not up to date." />`}${draw(value)}`;
  if (!error || silent) return html`<p class="muted">${error ? 'Waiting for dlq-admin…' : 'Loading…'}</p>`;
  return html`<${Problem} error=${error} head="That did not work." />
    <p><button type="button" onClick=${reload}>Try again</button></p>`;
}

export function Problem({ error, head }) {
  const more = (error.errors ?? []).filter(({ message }) => !error.message.includes(message));
  return html`
    <div class="notice bad" role="alert"><strong>${head}</strong> ${error.message}
      ${more.length > 0 && html`<ul>${more.map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`}
    </div>`;
}

/** What the present view does on a key; in force with what it shows, before the next key can be pressed. */
export function useKeys(keys) {
  useLayoutEffect(() => bindKeys(keys));
}

/**
 * Moves a mark through rows with j and k; Enter opens the link in the marked one. Returns where the mark is, -1 at first.
 * @template T
 * @param {T[]} items
 * @param {Record<string, (item: T | undefined) => unknown>} [keys]
 */
export function useRows(items, keys = {}) {
  const [mark, move] = useState(-1);
  const at = Math.min(mark, items.length - 1);
  const step = (by) => () => items.length > 0 && move(Math.min(items.length - 1, Math.max(0, at + by)));
  const own = Object.entries(keys).map(([key, action]) => [key, () => action(items[at])]);
  useKeys({ j: step(1), k: step(-1), ...Object.fromEntries(own) });
  useLayoutEffect(() => {
    const row = document.querySelector('tr.marked');
    row?.scrollIntoView({ block: 'nearest' });
    row?.querySelector('a')?.focus({ preventScroll: true });
  }, [at]);
  return at;
}
