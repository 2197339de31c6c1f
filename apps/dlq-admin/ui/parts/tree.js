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
    return html`<span class="value ${value === null ? 'null' : typeof value}">${String(value)}</span>`;
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
