import { h } from '../dom.js';
import { plural, visible } from '../format.js';

const FOREIGN = /node_modules|\bnode:|<anonymous>/;
const MAX_LINES = 400;

/** A stack trace with our own frames in front; the others are one click away, in their places. */
export function stackView(stack) {
  const lines = stack
    .split('\n')
    .slice(0, MAX_LINES)
    .map((text) => ({ text, kind: kindOf(text) }));
  const foreign = lines.filter(({ kind }) => kind === 'foreign').length;
  const box = h('pre', { class: 'stack mono', tabindex: 0, 'aria-label': 'Stack trace' });
  const draw = (all) =>
    box.replaceChildren(
      ...lines
        .filter(({ kind }) => all || kind !== 'foreign')
        .map(({ text, kind }) => h('span', { class: `line ${kind}` }, h('bdi', {}, visible(text)), '\n')),
    );
  draw(false);
  const toggle = h('input', { type: 'checkbox', on: { change: () => draw(toggle.checked) } });
  return h(
    'div',
    {},
    foreign > 0 &&
      h('label', { class: 'inline' }, toggle, ` show ${plural(foreign, 'frame')} of libraries and Node`),
    box,
  );
}

function kindOf(text) {
  if (!/^\s*at /.test(text)) return 'head';
  return FOREIGN.test(text) ? 'foreign' : 'own';
}
