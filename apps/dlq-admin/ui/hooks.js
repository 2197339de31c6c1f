import { away, events, get } from './api.js';
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
    const next = await outcome(load());
    if (live.current) set((old) => ({ value: old.value, ...next }));
  };
  useEffect(() => () => void (live.current = false), []);
  useEffect(() => void (silence || reload()), [silence]);
  useInterval(reload, silence ? 0 : everyMs);
  return { ...state, reload, show: (draw) => shown(state, draw, reload) };
}

/** Does `action` every `ms`; with 0, not now. */
export function useInterval(action, ms) {
  const latest = useRef(action);
  latest.current = action;
  useEffect(() => {
    const timer = ms && setInterval(() => void latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

const outcome = (promise) =>
  promise.then(
    (value) => ({ value, error: undefined }),
    (error) => ({ error }),
  );

/**
 * What `path` tells now and tells next, for as long as it is shown. A stream that ended, or that cannot be had, is asked for
 * again; until then the figures are polled.
 */
export function useStream(path) {
  const silence = useStore(away);
  const visible = useVisible();
  const [state, set] = useState(/** @type {{ value?: any, error?: any }} */ ({}));
  useEffect(() => {
    if (silence || !visible) return undefined;
    const ended = new AbortController();
    const keep = (next) => !ended.signal.aborted && set((old) => ({ value: old.value, ...next }));
    void follow(path, ended.signal, keep);
    return () => ended.abort();
  }, [silence, visible]);
  return { ...state, show: (draw) => shown(state, draw, () => {}) };
}

const STREAM_RETRY_MS = 3_000;

async function follow(path, signal, keep) {
  while (!signal.aborted) {
    try {
      for await (const value of events(`${path}/stream`, signal)) keep({ value, error: undefined });
    } catch {
      if (!signal.aborted) keep(await outcome(get(path)));
    }
    await new Promise((resolve) => setTimeout(resolve, STREAM_RETRY_MS));
  }
}

/** A tab that nobody looks at holds no connection: a browser has six for all tabs of a server. */
function useVisible() {
  const [visible, set] = useState(!document.hidden);
  useEffect(() => {
    const look = () => set(!document.hidden);
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return visible;
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
