import { countLetters, get, post } from '../api.js';
import { go } from '../app.js';
import { announce, FormData, h, location, replace, toast, URLSearchParams } from '../dom.js';
import { count, plural } from '../format.js';
import { bulkDialog } from '../parts/bulk-dialog.js';
import { confirmDialog } from '../parts/dialog.js';
import { letterTable } from '../parts/letter-table.js';
import { empty, heading } from '../parts/pieces.js';
import { rowKeys } from '../parts/rows.js';
import { may } from '../state.js';

const FIELDS = ['text', 'status', 'queue', 'error', 'name', 'worker', 'reason', 'group', 'from', 'until'];

/** The filter as the address says it; every change of the form becomes an address. */
function filterOf(params) {
  const filter = Object.fromEntries(
    FIELDS.map((name) => [name, params.get(name)]).filter(([, value]) => value),
  );
  for (const [name, value] of params) if (name.startsWith('payload.') && value) filter[name] = value;
  return filter;
}

export async function lettersView(stage) {
  const params = new URL(location.href).searchParams;
  const filter = filterOf(params);
  const cursor = params.get('cursor') ?? undefined;
  const selected = new Set();
  const form = filterForm(filter);
  const page = await get('/dead-letters', { ...filter, cursor, limit: 50 });
  const total = h('span', { class: 'muted' }, '');
  countLetters(filter).then(
    ({ count: n, exact }) =>
      (total.textContent = exact ? plural(n, 'letter') : `more than ${count(n)} letters`),
    () => {},
  );
  const actions = h('div', { class: 'selection' });
  const drawActions = () => replace(actions, selectionBar(selected, filter, page.items));
  drawActions();
  replace(
    stage,
    heading('Letters', total),
    form,
    actions,
    page.items.length > 0
      ? h('section', { class: 'card' }, letterTable(page.items, selected, drawActions))
      : empty('No letter fits. Loosen the filter, or be glad.'),
    h(
      'div',
      { class: 'pager' },
      cursor && h('a', { class: 'button', href: `/letters?${new URLSearchParams(filter)}` }, 'Newest'),
      page.next &&
        h(
          'a',
          { class: 'button', href: `/letters?${new URLSearchParams({ ...filter, cursor: page.next })}` },
          'Older',
        ),
    ),
  );
  announce(`${page.items.length} letters shown`);
  if (params.get('focus')) form.querySelector('#f-text, #f-queue')?.focus();
  const idOf = (row) => (row ? Number(row.dataset.id) : undefined);
  return rowKeys(
    () => [...stage.querySelectorAll('tr[data-id]')],
    (row) => go(`/letters/${row.dataset.id}`),
    {
      '/': () => form.querySelector('#f-text, #f-queue')?.focus(),
      x: (row) => row?.querySelector('input[type=checkbox]')?.click(),
      r: (row) => void changeMany('requeue', selected.size > 0 ? [...selected] : [idOf(row)].filter(Boolean)),
      d: (row) => void changeMany('discard', selected.size > 0 ? [...selected] : [idOf(row)].filter(Boolean)),
    },
  );
}

function filterForm(filter) {
  const [path, value] = Object.entries(filter).find(([name]) => name.startsWith('payload.')) ?? ['', ''];
  const field = (name, label, props = {}) =>
    h(
      'div',
      { class: props.class ?? '' },
      h('label', { for: `f-${name}` }, label),
      h('input', { id: `f-${name}`, name, value: filter[name] ?? '', ...props }),
    );
  const choice = (name, label, options) =>
    h(
      'div',
      {},
      h('label', { for: `f-${name}` }, label),
      h(
        'select',
        { id: `f-${name}`, name },
        h('option', { value: '' }, 'any'),
        options.map((option) => h('option', { value: option, selected: filter[name] === option }, option)),
      ),
    );
  const when = (name, label) =>
    h(
      'div',
      {},
      h('label', { for: `f-${name}` }, label),
      h('input', {
        id: `f-${name}`,
        name,
        type: 'datetime-local',
        value: filter[name] ? localTime(Number(filter[name])) : '',
      }),
    );
  const submit = (event) => {
    event.preventDefault();
    void go(`/letters?${addressOf(new FormData(event.target), filter)}`);
  };
  return h(
    'form',
    { class: 'card filters', role: 'search', 'aria-label': 'Filter letters', on: { submit } },
    may('operator') &&
      field('text', 'Text in payload or error', {
        class: 'grow',
        type: 'search',
        minlength: 3,
        placeholder: 'literal text, 3 characters or more',
      }),
    choice('status', 'Status', ['open', 'requeued', 'discarded']),
    field('queue', 'Queue'),
    field('error', 'Error'),
    h(
      'details',
      {
        class: 'more',
        open: ['name', 'worker', 'reason', 'from', 'until'].some((name) => filter[name]) || path !== '',
      },
      h('summary', {}, 'More'),
      h(
        'div',
        { class: 'fields' },
        field('name', 'Job name'),
        field('worker', 'Worker'),
        choice('reason', 'Reason', ['error', 'stalled', 'crash', 'invalid']),
        when('from', 'From'),
        when('until', 'Until'),
        may('operator') && [
          h(
            'div',
            {},
            h('label', { for: 'f-path' }, 'Payload field'),
            h('input', { id: 'f-path', name: 'path', placeholder: 'user.id', value: path.slice(8) }),
          ),
          h(
            'div',
            {},
            h('label', { for: 'f-value' }, 'equals'),
            h('input', { id: 'f-value', name: 'value', value }),
          ),
        ],
      ),
    ),
    filter.group && h('span', { class: 'chip' }, `group ${filter.group}`),
    h(
      'div',
      { class: 'submit' },
      h('button', { class: 'primary' }, 'Filter'),
      h('a', { class: 'button', href: '/letters' }, 'Clear'),
    ),
  );
}

function addressOf(data, { group }) {
  const params = new URLSearchParams(group ? { group } : {});
  for (const name of FIELDS) {
    const value = String(data.get(name) ?? '').trim();
    if (value)
      params.set(name, name === 'from' || name === 'until' ? String(new Date(value).getTime()) : value);
  }
  if (data.get('path') && data.get('value')) params.set(`payload.${data.get('path')}`, data.get('value'));
  return params;
}

function localTime(ms) {
  const date = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 16);
}

function selectionBar(selected, filter, items) {
  if (!may('operator') || items.length === 0) return [];
  const some = selected.size > 0;
  const all = async (kind) => {
    const status = kind === 'restore' ? 'discarded' : 'open';
    const action = await bulkDialog(kind, { filter: bulkFilter({ ...filter, status }) }, 'all that fit');
    if (action) await go(`/bulk/${action.id}`);
  };
  return [
    some
      ? h('strong', {}, `${plural(selected.size, 'letter')} selected`)
      : h('span', { class: 'muted' }, 'Select letters, or act on all that fit the filter:'),
    some
      ? [
          h(
            'button',
            { class: 'primary', on: { click: () => changeMany('requeue', [...selected]) } },
            'Requeue…',
          ),
          h(
            'button',
            { class: 'danger', on: { click: () => changeMany('discard', [...selected]) } },
            'Discard…',
          ),
        ]
      : [
          h('button', { on: { click: () => all('requeue') } }, 'Requeue all…'),
          h('button', { on: { click: () => all('discard') } }, 'Discard all…'),
        ],
  ];
}

function bulkFilter(filter) {
  const payload = Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) =>
      name.startsWith('payload.') ? [[name.slice(8), value]] : [],
    ),
  );
  const plain = Object.fromEntries(Object.entries(filter).filter(([name]) => !name.startsWith('payload.')));
  for (const name of ['from', 'until']) if (plain[name]) plain[name] = Number(plain[name]);
  return { ...plain, ...(Object.keys(payload).length > 0 && { payload }) };
}

/** One letter at once, several as a bulk action. */
async function changeMany(kind, ids) {
  if (!may('operator')) return toast(`To ${kind} needs the role operator.`, 'bad');
  if (ids.length === 0) return toast('No letter is marked: j and k move the mark, x selects.');
  if (ids.length > 1) {
    const action = await bulkDialog(kind, { ids }, plural(ids.length, 'letter'));
    return action && go(`/bulk/${action.id}`);
  }
  const answer = await confirmDialog(
    `${kind === 'requeue' ? 'Requeue' : 'Discard'} letter ${ids[0]}?`,
    kind === 'requeue' ? 'Requeue' : 'Discard',
    { danger: kind === 'discard', note: true },
  );
  if (!answer) return undefined;
  try {
    await post(`/dead-letters/${ids[0]}/${kind}`, { note: answer.note });
    toast(`Letter ${ids[0]}: ${kind === 'requeue' ? 'requeued' : 'discarded'}.`);
    return go(location.pathname + location.search);
  } catch (error) {
    return toast(error.message, 'bad');
  }
}
