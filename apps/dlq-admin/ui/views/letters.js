import { countLetters, get, may } from '../api.js';
import { count, plural } from '../format.js';
import { useData, useRows } from '../hooks.js';
import { Field, Form, toast } from '../parts/dialog.js';
import { Stack, Tree } from '../parts/payload.js';
import { Chip, Empty, ErrorText, Heading, Marked, Mono, ReasonChip, Section } from '../parts/pieces.js';
import { Table, Text } from '../parts/pieces.js';
import { html, useEffect, useState } from '../preact.js';
import { go } from '../router.js';
import { bulkDialog } from './bulk.js';
import { changeLetter } from './letter.js';

export function LettersView({ params }) {
  const filter = filterOf(params);
  const cursor = params.get('cursor') ?? undefined;
  const page = useData(() => get('/dead-letters', { ...queryOf(filter), cursor, limit: 50 }));
  const total = useData(() => countLetters(queryOf(filter)));
  const reload = () => Promise.all([page.reload(), total.reload()]);
  const at = (place) => `/letters?${new URLSearchParams({ ...filter, ...place })}`;
  return html`
    <${Heading} title="Letters"><span class="muted">${total.value && amount(total.value)}</span><//>
    <${Filters} filter=${filter} focus=${params.has('focus')} />
    ${page.show(
      ({ items, next }) => html`<${Letters} items=${items} filter=${filter} reload=${reload} />
      <div class="row">
        ${cursor && html`<a class="button" href=${at({})}>Newest</a>`}
        ${next && html`<a class="button" href=${at({ cursor: next })}>Older</a>`}
      </div>`,
    )}`;
}

const amount = ({ count: n, exact }) => (exact ? plural(n, 'letter') : `more than ${count(n)} letters`);

/** Orders of the letters that are shown; pages follow each other by time. */
const ORDERS = {
  newest: (a, b) => b.deadLetteredAt - a.deadLetteredAt,
  oldest: (a, b) => a.deadLetteredAt - b.deadLetteredAt,
  error: (a, b) => a.errorName.localeCompare(b.errorName) || a.errorMessage.localeCompare(b.errorMessage),
  queue: (a, b) => a.queue.localeCompare(b.queue),
  'most requeued': (a, b) => b.replayCount - a.replayCount,
};

function Letters({ items: found, filter, reload }) {
  const [selected, select] = useState(new Set());
  const [order, setOrder] = useState('newest');
  const items = [...found].sort(ORDERS[order]);
  const change = async (kind, ids) => {
    if (!(await changeMany(kind, ids))) return;
    select(new Set());
    await reload();
  };
  const chosen = (letter) => (selected.size > 0 ? [...selected] : letter ? [letter.id] : []);
  const at = useRows(items, {
    '/': focusFilter,
    x: (letter) =>
      letter &&
      document.querySelector(`tr[data-id="${letter.id}"] input`)?.dispatchEvent(new MouseEvent('click')),
    r: (letter) => change('requeue', chosen(letter)),
    d: (letter) => change('discard', chosen(letter)),
  });
  if (items.length === 0) return html`<${Empty}>No dead letters match this filter.<//>`;
  return html`
    <div class="row selection">
      <${SelectionBar} selected=${selected} filter=${filter} change=${change} />
      <label class="inline sort">Sort these by <select onChange=${(event) => setOrder(event.target.value)}>${Object.keys(ORDERS).map((name) => html`<option>${name}</option>`)}</select></label>
    </div>
    <div class=${at >= 0 ? 'two' : ''}>
      <${Section}><${LetterTable} letters=${items} at=${at} word=${filter.text} selected=${selected} select=${may('operator') && select} /><//>
      ${at >= 0 && html`<${Preview} key=${items[at].id} id=${items[at].id} word=${filter.text} />`}
    </div>`;
}

/** What a marked letter holds, beside the list. */
const Preview = ({ id, word }) => html`
  <aside class="preview-pane" aria-label="Preview of letter ${id}"><${Section} title="Letter ${id}">
    ${useData(() => get(`/dead-letters/${id}`)).show(
      (of) => html`
        <p class="message-line"><bdi><${Marked} of=${of.errorMessage.slice(0, 600)} word=${word} /></bdi></p>
        ${of.note && html`<div class="notice"><${Text} of=${of.note} /></div>`}
        ${of.hidden ? html`<p class="muted">Only operators see payload and stack.</p>` : html`<${Tree} of=${of.payload} masked=${of.redactedPaths} /><${Stack} of=${of.stack} />`}`,
    )}
  <//></aside>`;

function SelectionBar({ selected, filter, change }) {
  if (!may('operator')) return null;
  const ids = [...selected];
  const all = (kind) =>
    bulkDialog(kind, { filter: bulkFilter({ ...filter, status: 'open' }) }, 'all that fit');
  if (ids.length > 0)
    return html`<strong>${plural(ids.length, 'letter')} selected</strong>
      <button class="primary" onClick=${() => change('requeue', ids)}>Requeue…</button>
      <button class="danger" onClick=${() => change('discard', ids)}>Discard…</button>`;
  return html`<span class="muted">Select letters, or act on all open ones that fit the filter:</span>
    <button onClick=${() => all('requeue')}>Requeue all…</button>
    <button onClick=${() => all('discard')}>Discard all…</button>`;
}

function bulkFilter(filter) {
  const [body, payload] = [{}, {}];
  for (const [name, value] of Object.entries(filter))
    if (name.startsWith('payload.')) payload[name.slice(8)] = value;
    else body[name] = name === 'from' || name === 'until' ? Number(value) : value;
  return { ...body, ...(Object.keys(payload).length > 0 && { payload }) };
}

/** One letter at once, several as a bulk action; true when this page has changed. */
async function changeMany(kind, ids) {
  if (!may('operator')) return toast(`To ${kind} needs the role operator.`, 'bad');
  if (ids.length === 0) return toast('No letter is marked: j and k move the mark, x selects.');
  if (ids.length === 1) return changeLetter(kind, ids[0]);
  return bulkDialog(kind, { ids }, plural(ids.length, 'letter'));
}

/**
 * Letters, two lines each: what failed; where, in which state. `selected` is a set of ids, `select(ids)` replaces it; without
 * it nothing can be selected.
 */
export function LetterTable({ letters, word = '', selected = null, select = null, ...rest }) {
  const letter = ['Letter', (of) => html`<${Letter} of=${of} word=${word} />`, 'wide'];
  const columns = select ? [selection(letters, selected, select), letter, WHEN] : [letter, WHEN];
  return html`<${Table} class="letters" items=${letters} columns=${columns} ...${rest} />`;
}

function selection(letters, selected, select) {
  const all = letters.length > 0 && letters.every(({ id }) => selected.has(id));
  const allIds = letters.map(({ id }) => id);
  const without = (id) => [...selected].filter((one) => one !== id);
  const toggle = (id) => select(new Set(selected.has(id) ? without(id) : [...selected, id]));
  return [
    html`<input type="checkbox" aria-label="Select all letters shown" checked=${all} onChange=${() => select(new Set(all ? [] : allIds))} />`,
    ({ id }) =>
      html`<input type="checkbox" aria-label="Select letter ${id}" checked=${selected.has(id)} onChange=${() => toggle(id)} />`,
    'bare',
  ];
}

const WHEN = ['When', 'deadLetteredAt', 'when number bare'];

const Letter = ({ of, word }) => html`
  <a href="/letters/${of.id}" class="row-link"><${ErrorText} name=${of.errorName} message=${of.errorMessage} max=${160} word=${word} /></a>
  <div class="small muted second">
    <${Chip} of=${of.status} /><${ReasonChip} of=${of.reason} />
    <${Text} of=${of.queue} /><${Mono} of=${of.jobId} /><${Mono} of=${of.lastWorkerId} />
    ${of.replayCount > 0 && html`<span>requeued ${of.replayCount} ×</span>`}
  </div>`;

const SHOWN = ['text', 'status', 'queue', 'error', 'group', 'action'];
const HIDDEN = ['name', 'worker', 'reason', 'from', 'until'];

/**
 * The filter as the address says it; every change of the form becomes an address. Open letters come first: who wants others
 * asks for them, or for `any`.
 */
function filterOf(params) {
  const own = (name) => [...SHOWN, ...HIDDEN].includes(name) || name.startsWith('payload.');
  return { status: 'open', ...Object.fromEntries([...params].filter(([name, value]) => own(name) && value)) };
}

/** As the interface takes it. */
const queryOf = ({ status, ...filter }) => (status === 'any' ? filter : { ...filter, status });

const focusFilter = () => document.getElementById(may('operator') ? 'f-text' : 'f-queue')?.focus();

const search =
  ({ group, action }) =>
  (values) => {
    const { path, value, ...fields } = { ...(group && { group }), ...(action && { action }), ...values };
    for (const time of ['from', 'until'])
      if (fields[time]) fields[time] = String(new Date(fields[time]).getTime());
    if (path && value) fields[`payload.${path}`] = value;
    return go(`/letters?${new URLSearchParams(fields)}`);
  };

function Filters({ filter, focus }) {
  const known = useData(suggestions).value;
  useEffect(() => void (focus && focusFilter()), []);
  const payload = Object.keys(filter).find((name) => name.startsWith('payload.')) ?? '';
  const field = (name, label, rest = {}) =>
    html`<${Field} name=${name} id="f-${name}" label=${label} value=${filter[name]} known=${known?.[name]} ...${rest} />`;
  const time = (name, label) =>
    field(name, label, { value: localTime(filter[name]), type: 'datetime-local' });
  return html`
    <${Form} submit=${search(filter)} action="Filter" class="card fields" role="search" aria-label="Filter letters">
      ${may('operator') && field('text', 'Text in payload or error', TEXT)}
      ${field('status', 'Status', { options: ['any', 'open', 'requeued', 'resolved', 'discarded'] })}
      ${field('queue', 'Queue')}
      ${field('error', 'Error')}
      <details class="more" open=${HIDDEN.some((name) => filter[name]) || payload !== ''}>
        <summary class="link">More</summary>
        <div class="fields">
          ${field('name', 'Job name')}
          ${field('worker', 'Worker')}
          ${field('reason', 'Reason', { options: [['', 'any'], 'error', 'stalled', 'crash', 'invalid'] })}
          ${time('from', 'From')}
          ${time('until', 'Until')}
          ${may('operator') && field('path', 'Payload field', { value: payload.slice(8), placeholder: 'user.id' })}
          ${may('operator') && field('value', 'equals', { value: filter[payload] })}
        </div>
      </details>
      ${filter.group && html`<${Chip} of="group ${filter.group.slice(0, 12)}" />`}
      ${filter.action && html`<${Chip} of="bulk action ${filter.action.slice(0, 8)}" />`}
      <a class="button" href="/letters">Clear</a>
    <//>`;
}

const TEXT = { class: 'grow', type: 'search', minlength: 3, placeholder: 'literal, 3 characters or more' };

/** Names that letters carry, for the fields that ask for them. */
async function suggestions() {
  const groups = get('/groups', { status: 'any', limit: 50 });
  const [{ queues }, { items }] = await Promise.all([get('/stats'), groups]);
  const unique = (names) => [...new Set(names)].slice(0, 50);
  return {
    queue: unique(queues.map(({ queue }) => queue)),
    error: unique(items.map(({ errorName }) => errorName)),
    worker: unique(items.flatMap(({ workers }) => workers.map(({ worker }) => worker))),
  };
}

function localTime(text) {
  if (!text) return '';
  const ms = Number(text);
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
