// What a letter holds: its payload as a tree, the stack of its error, and what an edit changes.
import { plural, visible } from '../format.js';
import { html, useState } from '../preact.js';

const MAX_TEXT = 2_000;
const MAX_CHILDREN = 200;
const OPEN_DEPTH = 2;

/** JSON as a tree. Branches are drawn when opened, so neither depth nor size can choke the page. */
export const Tree = ({ of, masked = [] }) =>
  html`<div class="tree mono"><${Node} value=${of} masked=${new Set(masked)} /></div>`;

function Node({ name = '', value, depth = 0, path = '', masked }) {
  const key = name === '' ? null : html`<span class="key">${visible(name)}</span>: `;
  if (typeof value === 'object' && value !== null)
    return html`<${Branch} label=${key} value=${value} depth=${depth} path=${path} masked=${masked} />`;
  return html`<div class="leaf">${key}<${Leaf} value=${value} masked=${masked.has(path)} /></div>`;
}

function Branch({ label, value, depth, path, masked }) {
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= 50);
  const [most, setMost] = useState(MAX_CHILDREN);
  const size = list ? `[ ${plural(entries.length, 'item')} ]` : `{ ${plural(entries.length, 'field')} }`;
  const pathOf = (key) => (list ? `${path}[${key}]` : path ? `${path}.${key}` : key);
  const child = ([key, one]) =>
    html`<${Node} name=${key} value=${one} depth=${depth + 1} path=${pathOf(key)} masked=${masked} />`;
  const left = entries.length - most;
  return html`
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${label}<span class="muted">${size}</span></summary>
      ${open && html`<div class="children">${entries.slice(0, most).map(child)}</div>`}
      ${open && left > 0 && html`<button class="link" onClick=${() => setMost(most + MAX_CHILDREN)}>${left} more …</button>`}
    </details>`;
}

function Leaf({ value, masked }) {
  if (typeof value !== 'string')
    return html`<span class="value ${value === null ? 'null' : 'plain'}">${String(value)}</span>`;
  if (masked)
    return html`<span class="chip warn" title="Masked as a secret; give it anew before requeueing.">${visible(value)}</span>`;
  return html`<${LongText} of=${value} class="value string" quote='"' />`;
}

/** Text that is shown in part first when it is long. */
export function LongText({ of, class: name = '', quote = '' }) {
  const [all, showAll] = useState(of.length <= MAX_TEXT);
  const text = `${quote}${visible(all ? of : of.slice(0, MAX_TEXT))}${all ? quote : '…'}`;
  if (all) return html`<bdi class=${name}>${text}</bdi>`;
  return html`<bdi class=${name}>${text}</bdi> ${' '}<button class="link" onClick=${() => showAll(true)}>show all ${plural(of.length, 'character')}</button>`;
}

const Lines = ({ of, label, class: name }) => html`
  <pre class="lines mono ${name}" tabindex="0" aria-label=${label}>${of.map(
    ([kind, text, mark = '']) => html`<span class=${kind}>${mark}<bdi>${visible(text)}</bdi>${'\n'}</span>`,
  )}</pre>`;

const FOREIGN = /node_modules|\bnode:|<anonymous>/;
const MAX_FRAMES = 400;

function kindOf(text) {
  if (!/^\s*at /.test(text)) return 'head';
  return FOREIGN.test(text) ? 'foreign' : 'own';
}

/** A stack trace with our own frames in front; the others are one click away, in their places. */
export function Stack({ of }) {
  const [all, showAll] = useState(false);
  const lines = of
    .split('\n')
    .slice(0, MAX_FRAMES)
    .map((text) => [kindOf(text), text]);
  const foreign = lines.filter(([kind]) => kind === 'foreign').length;
  return html`
    ${foreign > 0 && html`<label class="inline"><input type="checkbox" checked=${all} onChange=${() => showAll(!all)} /> show ${plural(foreign, 'frame')} of libraries and Node</label>`}
    <${Lines} class="stack" label="Stack trace" of=${lines.filter(([kind]) => all || kind !== 'foreign')} />`;
}

const MAX_LINES = 1_500;

/** The lines of two texts: kept, removed, added, by their longest common subsequence. */
function diffLines(before, after) {
  const [a, b] = [before, after].map((text) => text.split('\n').slice(0, MAX_LINES));
  const at = (i, j) => i * (b.length + 1) + j;
  const best = new Uint16Array(at(a.length + 1, 0));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const other = Math.max(best[at(i + 1, j)], best[at(i, j + 1)]);
      best[at(i, j)] = a[i] === b[j] ? best[at(i + 1, j + 1)] + 1 : other;
    }
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const gone = j === b.length || best[at(i + 1, j)] >= best[at(i, j + 1)];
    if (i < a.length && a[i] === b[j]) (lines.push(['kept', a[i], '  ']), i++, j++);
    else if (i < a.length && gone) lines.push(['removed', a[i++], '- ']);
    else lines.push(['added', b[j++], '+ ']);
  }
  return lines;
}

export function Diff({ before, after }) {
  const lines = diffLines(before, after);
  const changed = (line) => line[0] !== 'kept';
  if (!lines.some(changed)) return html`<p class="muted">No change yet.</p>`;
  const near = (_, index) => lines.slice(Math.max(0, index - 3), index + 4).some(changed);
  return html`<${Lines} class="diff" label="Changes" of=${lines.filter(near)} />`;
}
