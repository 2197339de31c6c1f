import { h } from '../dom.js';
import { ago, count, moment, shorten, visible } from '../format.js';

export const time = (ms) => h('time', { datetime: new Date(ms).toISOString(), title: moment(ms) }, ago(ms));

export const statusChip = (status) => h('span', { class: `chip ${status}` }, status);

export const reasonChip = (reason) =>
  reason === 'error' ? null : h('span', { class: 'chip reason' }, reason);

/** An error as people read it: its name, then its message, both as plain text. */
export function errorText(name, whole, max = 220) {
  // Many messages begin with the name already.
  const message = whole.startsWith(`${name}: `) ? whole.slice(name.length + 2) : whole;
  return h(
    'span',
    { class: 'error-text' },
    h('strong', {}, h('bdi', {}, visible(name))),
    ' ',
    h('bdi', { class: 'message' }, visible(shorten(message, max))),
  );
}

export function bar(value, largest) {
  const fill = h('span', { class: 'fill' });
  fill.style.width = `${largest > 0 ? Math.max(1.5, (100 * value) / largest) : 0}%`;
  return h('span', { class: 'meter', 'aria-hidden': 'true' }, fill);
}

export function tile(label, value, hint, tone = '') {
  return h(
    'div',
    { class: `tile ${tone}` },
    h('span', { class: 'label' }, label),
    h('span', { class: 'figure' }, typeof value === 'number' ? count(value) : value),
    hint && h('span', { class: 'hint' }, hint),
  );
}

export const heading = (title, ...aside) =>
  h('div', { class: 'heading' }, h('h1', {}, title), h('div', { class: 'aside' }, aside));

export const section = (title, ...content) => h('section', { class: 'card' }, h('h2', {}, title), content);

/** Rows under titles. A title is text, or { number } above figures, or { hidden } for screen readers only. */
export const listTable = (titles, rows) =>
  h('table', { class: 'list' }, h('thead', {}, h('tr', {}, titles.map(titleCell))), h('tbody', {}, rows));

const titleCell = (title) =>
  h(
    'th',
    { scope: 'col', class: title.number && 'number' },
    title.number ?? (title.hidden ? h('span', { class: 'visually-hidden' }, title.hidden) : title),
  );

export const facts = (rows) =>
  h(
    'dl',
    { class: 'facts' },
    rows
      .filter(Boolean)
      .map(([name, value]) =>
        h(
          'div',
          {},
          h('dt', {}, name),
          h('dd', {}, typeof value === 'string' ? h('bdi', {}, visible(value)) : value),
        ),
      ),
  );

export const empty = (text) => h('p', { class: 'empty' }, text);
