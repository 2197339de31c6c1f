// The one door to preact and htm. What stands in `html` as text stays text, whoever wrote it.
import htm from './vendor/htm.js';
import { h, render } from './vendor/preact.js';
import { useEffect, useState } from './vendor/hooks.js';

export { render };
export { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from './vendor/hooks.js';
/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

/**
 * A value that several components show.
 * @template T
 * @param {T} value
 */
export function store(value) {
  const listeners = new Set();
  return {
    get: () => value,
    /** @param {T} next */
    set(next) {
      value = next;
      for (const listener of [...listeners]) listener(next);
    },
    /** @param {(value: T) => void} listener */
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * @template T
 * @param {{ get(): T, listen(listener: (value: T) => void): () => void }} from
 */
export function useStore(from) {
  const [value, set] = useState(from.get());
  useEffect(() => {
    set(from.get());
    return from.listen(set);
  }, [from]);
  return value;
}
