import { ago, count, moment, shorten, visible } from '../format.js';
import { html } from '../preact.js';

/** Text of others: as it is, with what would hide or turn it made visible. */
export const Text = ({ of, class: name = '' }) => html`<bdi class=${name}>${visible(of)}</bdi>`;

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
export function ErrorText({ name, message, max = 220, word = '' }) {
  const rest = message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
  return html`<span class="error-text"><strong><bdi><${Marked} of=${name} word=${word} /></bdi></strong> ${' '}
    <bdi class="message"><${Marked} of=${shorten(rest, max)} word=${word} /></bdi></span>`;
}

export function Meter({ value, largest }) {
  const width = largest > 0 ? Math.max(1.5, (100 * value) / largest) : 0;
  return html`<span class="meter" aria-hidden="true"><span class="fill" style=${{ width: `${width}%` }}></span></span>`;
}

/** A day as bars, an hour each. */
export function Sparkline({ of }) {
  const most = Math.max(1, ...of);
  const bar = (n, hour) =>
    html`<rect x=${hour * 5} y=${24 - (22 * n) / most} width="4" height=${n > 0 ? Math.max(1, (22 * n) / most) : 0} />`;
  const sum = of.reduce((total, n) => total + n, 0);
  return html`<svg class="sparkline" viewBox="0 0 120 24" role="img" aria-label="${count(sum)} in the last 24 hours, at most ${count(most)} in one">${of.map(bar)}</svg>`;
}

export const Tile = ({ label, value, hint = '', tone = '' }) => html`
  <div class="tile ${tone}">
    <span class="label">${label}</span>
    <span class="figure">${typeof value === 'number' ? count(value) : value}</span>
    ${hint && html`<span class="hint">${hint}</span>`}
  </div>`;

export const Heading = ({ title, children = null }) =>
  html`<div class="heading"><h1>${title}</h1><div class="aside">${children}</div></div>`;

export const Crumbs = ({ children }) => html`<p class="crumbs">${children}</p>`;

export const Section = ({ title, aside = null, children }) => html`
  <section class="card">
    <div class="heading"><h2>${title}</h2>${aside}</div>
    ${children}
  </section>`;

/** Rows under titles. A title is text, or { number } above figures, or { hidden } for screen readers only. */
export const ListTable = ({ titles, class: name = '', children }) => html`
  <table class="list ${name}">
    <thead><tr>${titles.map(
      (title) =>
        html`<th scope="col" class=${title.number ? 'number' : ''}>${title.hidden ? html`<span class="visually-hidden">${title.hidden}</span>` : (title.number ?? title)}</th>`,
    )}</tr></thead>
    <tbody>${children}</tbody>
  </table>`;

/** Names and values; a value that is text is text of others. */
export const Facts = ({ of }) => html`
  <dl class="facts">${of
    .filter(Boolean)
    .map(
      ([name, value]) =>
        html`<div><dt>${name}</dt><dd>${typeof value === 'string' ? html`<${Text} of=${value} />` : value}</dd></div>`,
    )}
  </dl>`;

export const Mono = ({ of }) => html`<span class="mono"><${Text} of=${of} /></span>`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** Links that choose one of several views of the same thing. */
export const Tabs = ({ label, of, current }) => html`
  <div class="aside" role="group" aria-label=${label}>${of.map(
    ([value, text, href]) =>
      html`<a href=${href} class="tab ${value === current ? 'current' : ''}" aria-current=${value === current ? 'true' : undefined}>${text}</a>`,
  )}</div>`;
