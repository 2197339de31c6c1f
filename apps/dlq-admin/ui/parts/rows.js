import { bindKeys } from '../keys.js';

/** Moves a mark through the rows of a table with j and k; Enter opens, and a view may add its own keys. */
export function rowKeys(rows, open, keys = {}) {
  let at = -1;
  const move = (step) => {
    const list = rows();
    if (list.length === 0) return;
    list[at]?.classList.remove('marked');
    at = Math.min(list.length - 1, Math.max(0, at + step));
    list[at].classList.add('marked');
    list[at].scrollIntoView({ block: 'nearest' });
    list[at].querySelector('a')?.focus({ preventScroll: true });
  };
  const marked = () => rows()[at];
  return bindKeys({
    j: () => move(1),
    k: () => move(-1),
    ...(open && { o: () => marked() && open(marked()) }),
    ...Object.fromEntries(Object.entries(keys).map(([key, action]) => [key, () => action(marked())])),
  });
}
