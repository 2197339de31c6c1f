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
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  const set = (/** @type {T} */ next) => {
    value = next;
    for (const listener of [...listeners]) listener(next);
  };
  return { get: () => value, set, listeners };
}

/**
 * @template T
 * @param {{ get(): T, listeners: Set<(value: T) => void> }} from
 */
export function useStore(from) {
  const [value, set] = useState(from.get());
  useEffect(() => {
    set(from.get());
    from.listeners.add(set);
    return () => void from.listeners.delete(set);
  }, [from]);
  return value;
}
