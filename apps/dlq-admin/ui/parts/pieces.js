import { ago, count, moment, shorten, visible } from '../format.js';
import { html } from '../preact.js';

/** Text of others: as it is, with what would hide or turn it made visible. */
export const Text = ({ of, class: name = '' }) => html`<bdi class=${name}>${visible(of)}</bdi>`;

export const Mono = ({ of }) => html`<${Text} of=${of} class="mono" />`;

export const Time = ({ at }) =>
  html`<time datetime=${new Date(at).toISOString()} title=${moment(at)}>${ago(at)}</time>`;

export const Chip = ({ of, tone = of }) => html`<span class="chip ${tone}">${of}</span>`;

export const ReasonChip = ({ of }) => of !== 'error' && html`<${Chip} of=${of} tone="reason" />`;

/** The words of a search, marked where they stand. */
export function Marked({ of, word = '' }) {
  const text = visible(of);
  const at = word ? text.toLowerCase().indexOf(word.toLowerCase()) : -1;
  if (at < 0) return text;
  const end = at + word.length;
  return html`${text.slice(0, at)}<mark>${text.slice(at, end)}</mark><${Marked} of=${text.slice(end)} word=${word} />`;
}

/** An error as people read it: its name, then its message. Many messages begin with the name already. */
export function ErrorText({ name, message, max = 200, word = '' }) {
  const rest = message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
  return html`<span class="error-text"><strong><bdi><${Marked} of=${name} word=${word} /></bdi></strong> ${' '}
    <bdi><${Marked} of=${shorten(rest, max)} word=${word} /></bdi></span>`;
}

export const Meter = ({ value, largest }) =>
  html`<progress class="bad" aria-hidden="true" max=${largest} value=${value}></progress>`;

/** A day as bars, an hour each. */
export function Sparkline({ of }) {
  const most = Math.max(1, ...of);
  const bar = (n, hour) =>
    html`<rect x=${hour * 5} y=${24 - (22 * n) / most} width="4" height=${n > 0 ? Math.max(1, (22 * n) / most) : 0} />`;
  const sum = of.reduce((total, n) => total + n, 0);
  return html`<svg class="sparkline" viewBox="0 0 120 24" role="img" aria-label="${count(sum)} in the last 24 hours, at most ${count(most)} in one">${of.map(bar)}</svg>`;
}

/** A figure below its name, above hints. A step of the way is one, too. */
export const Tile = ({ label, value, hints = [], href = '', tone = '', as = 'div' }) => html`
  <${as} class="${as === 'li' ? 'box' : 'tile'} ${tone}">
    <span class="label">${href ? html`<a href=${href}>${label}</a>` : label}</span>
    <span class="figure">${typeof value === 'number' ? count(value) : value}</span>
    ${[hints].flat().map((hint) => hint && html`<span class="hint">${hint}</span>`)}
  <//>`;

export const Heading = ({ title, children = null }) =>
  html`<div class="heading"><h1>${title}</h1><div class="row">${children}</div></div>`;

export const Section = ({ title = null, aside = null, children }) => html`
  <section class="card">
    ${title && html`<div class="heading"><h2>${title}</h2>${aside}</div>`}
    ${children}
  </section>`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** A value as its kind is shown: a `number` with its thousands, `when` as time ago, `mono` as code. Text is text of others. */
function shown(value, kind) {
  if (/when/.test(kind)) return value ? html`<${Time} at=${value} />` : '–';
  if (/number/.test(kind)) return count(value);
  return typeof value === 'string' ? html`<${Text} of=${value} class=${/mono/.exec(kind)?.[0]} />` : value;
}

/**
 * Rows of `items`; `columns` are [title, field or cell(item), kind]. A kind is classes of the cells: `number` and `when` align
 * them, `wide` and `bare` cells bear no label on a narrow screen, the title of `unseen` ones is for screen readers.
 */
export function Table({ items, columns, at = -1, empty = '', class: name = '' }) {
  if (items.length === 0 && empty) return html`<${Empty}>${empty}<//>`;
  const head = ([title, , kind = '']) =>
    html`<th scope="col" class=${/number/.exec(kind)?.[0]}>${/unseen/.test(kind) ? html`<span class="visually-hidden">${title}</span>` : title}</th>`;
  const cell = (item, [title, what, kind = '']) => {
    const label = /wide|bare|unseen/.test(kind) ? undefined : title;
    const value = typeof what === 'function' ? what(item) : shown(item[what], kind);
    return html`<td class=${kind} data-label=${label}>${value}</td>`;
  };
  const row = (item, index) => html`
    <tr key=${item.id ?? index} data-id=${item.id} class=${index === at ? 'marked' : ''}>${columns.map((column) => cell(item, column))}</tr>`;
  return html`
    <table class="list ${name}">
      <thead><tr>${columns.map(head)}</tr></thead>
      <tbody>${items.map(row)}</tbody>
    </table>`;
}

/** Names and values by their kinds; what has no value is left out. */
export function Facts({ of }) {
  const known = of.filter(([, value]) => ![null, undefined, false, ''].includes(value));
  const fact = ([name, value, kind = '']) => html`<div><dt>${name}</dt><dd>${shown(value, kind)}</dd></div>`;
  return html`<dl class="facts">${known.map(fact)}</dl>`;
}

/** Links that choose one of several views of the same thing. */
export const Tabs = ({ label, of, current }) => html`
  <div class="row" role="group" aria-label=${label}>${of.map(
    ([value, text, href]) =>
      html`<a href=${href} class="tab" aria-current=${value === current ? 'true' : undefined}>${text}</a>`,
  )}</div>`;
