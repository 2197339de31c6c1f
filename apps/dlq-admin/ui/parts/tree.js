import { h } from '../dom.js';
import { plural, visible } from '../format.js';

const MAX_TEXT = 2_000;
const MAX_CHILDREN = 200;
const OPEN_DEPTH = 2;

/** JSON as a tree. Branches are built when opened, so neither depth nor size can choke the page. */
export function tree(value, masked = []) {
  return h('div', { class: 'tree mono' }, node('', value, 0, '', new Set(masked)));
}

function node(key, value, depth, path, masked) {
  const name = key === '' ? null : [h('span', { class: 'key' }, visible(key)), ': '];
  if (typeof value !== 'object' || value === null)
    return h('div', { class: 'leaf' }, name, leaf(value, masked.has(path)));
  return branch(name, value, depth, path, masked);
}

function branch(name, value, depth, path, masked) {
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  const size = list ? plural(entries.length, 'item') : plural(entries.length, 'field');
  const details = h(
    'details',
    {},
    h('summary', {}, name, h('span', { class: 'muted' }, list ? `[ ${size} ]` : `{ ${size} }`)),
  );
  const childPath = (key) => (list ? `${path}[${key}]` : path ? `${path}.${key}` : key);
  const fill = (from) => {
    const more = entries
      .slice(from, from + MAX_CHILDREN)
      .map(([key, child]) => node(key, child, depth + 1, childPath(key), masked));
    details.append(h('div', { class: 'children' }, more));
    const left = entries.length - from - MAX_CHILDREN;
    if (left <= 0) return;
    const button = h(
      'button',
      { class: 'link', on: { click: () => (button.remove(), fill(from + MAX_CHILDREN)) } },
      `${plural(left, 'more')} …`,
    );
    details.append(button);
  };
  let built = false;
  const build = () => {
    if (!built) fill(0);
    built = true;
  };
  details.addEventListener('toggle', () => details.open && build());
  if (depth < OPEN_DEPTH && entries.length <= 50) {
    build();
    details.open = true;
  }
  return details;
}

function leaf(value, isMasked) {
  if (typeof value !== 'string')
    return h('span', { class: `value ${value === null ? 'null' : typeof value}` }, String(value));
  if (isMasked)
    return h(
      'span',
      { class: 'chip warn', title: 'Masked as a secret; give it anew before requeueing.' },
      visible(value),
    );
  return longText(value, 'value string', (text) => `"${visible(text)}"`);
}

/** Text that is shown in part first when it is long. */
export function longText(text, className, show = visible) {
  if (text.length <= MAX_TEXT) return h('bdi', { class: className }, show(text));
  const box = h('bdi', { class: className }, show(text.slice(0, MAX_TEXT)), '…');
  const button = h(
    'button',
    { class: 'link', on: { click: () => ((box.textContent = show(text)), button.remove()) } },
    `show all ${plural(text.length, 'character')}`,
  );
  return h('span', {}, box, ' ', button);
}
