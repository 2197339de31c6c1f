import { get } from '../api.js';
import { go } from '../app.js';
import { h, location, replace, toast } from '../dom.js';
import { count, plural, visible } from '../format.js';
import { bulkDialog } from '../parts/bulk-dialog.js';
import { letterTable } from '../parts/letter-table.js';
import { empty, facts, heading, section, time } from '../parts/pieces.js';
import { rowKeys } from '../parts/rows.js';
import { may } from '../state.js';
import { groupTable } from './overview.js';

export async function groupsView(stage) {
  const params = new URL(location.href).searchParams;
  const status = params.get('status') === 'any' ? 'any' : 'open';
  const page = await get('/groups', { limit: 50, status, cursor: params.get('cursor') });
  const tab = (value, text) =>
    h('a', { href: `/groups?status=${value}`, class: `tab ${value === status ? 'current' : ''}` }, text);
  replace(
    stage,
    heading('Groups', tab('open', 'with open letters'), tab('any', 'all')),
    h(
      'p',
      { class: 'muted' },
      'Letters that failed for the same cause: the same error, message and place, whatever ids, paths and numbers they carry.',
    ),
    page.items.length > 0 ? h('section', { class: 'card' }, groupTable(page.items)) : empty('No groups.'),
    page.next &&
      h(
        'p',
        {},
        h(
          'a',
          { class: 'button', href: `/groups?status=${status}&cursor=${encodeURIComponent(page.next)}` },
          'Next page',
        ),
      ),
  );
  return rowKeys(
    () => [...stage.querySelectorAll('tr[data-href]')],
    (row) => go(row.dataset.href),
  );
}

export async function groupView(stage, [id]) {
  const [group, letters] = await Promise.all([
    get(`/groups/${id}`),
    get('/dead-letters', { group: id, limit: 50 }),
  ]);
  const act = async (kind) => {
    const action = await bulkDialog(kind, { filter: { group: id, status: 'open' } }, 'this group');
    if (action) await go(`/bulk/${action.id}`);
  };
  const selected = new Set();
  replace(
    stage,
    h(
      'p',
      { class: 'crumbs' },
      h('a', { href: '/groups' }, 'Groups'),
      ' / ',
      h('span', { class: 'mono' }, id),
    ),
    heading(
      h('bdi', {}, visible(group.errorName)),
      may('operator') && [
        h(
          'button',
          { class: 'primary', disabled: group.open === 0, on: { click: () => act('requeue') } },
          `Requeue ${plural(group.open, 'letter')}…`,
        ),
        h(
          'button',
          { class: 'danger', disabled: group.open === 0, on: { click: () => act('discard') } },
          'Discard…',
        ),
      ],
    ),
    h('p', { class: 'message-line' }, h('bdi', {}, visible(group.message))),
    section(
      'What is known',
      facts([
        ['Open', count(group.open)],
        ['In all', count(group.total)],
        ['First seen', time(group.firstSeenAt)],
        ['Last seen', time(group.lastSeenAt)],
        group.frame && ['Where', h('span', { class: 'mono' }, visible(group.frame))],
        [
          'Queues',
          h(
            'span',
            {},
            group.queues.map(({ queue, total }) =>
              h('span', { class: 'chip' }, h('bdi', {}, visible(queue)), ` ${count(total)}`),
            ),
          ),
        ],
        [
          'Workers',
          h(
            'span',
            {},
            group.workers.map(({ worker, total }) =>
              h('span', { class: 'chip' }, h('bdi', {}, visible(worker)), ` ${count(total)}`),
            ),
          ),
        ],
      ]),
    ),
    section(
      'Letters',
      letters.items.length > 0 ? letterTable(letters.items, selected, () => {}) : empty('None.'),
      letters.next && h('p', {}, h('a', { href: `/letters?group=${id}` }, 'All letters of this group')),
    ),
  );
  return rowKeys(
    () => [...stage.querySelectorAll('tr[data-id]')],
    (row) => go(`/letters/${row.dataset.id}`),
    {
      r: () => (may('operator') ? void act('requeue') : toast('Requeueing needs the role operator.', 'bad')),
      d: () => may('operator') && void act('discard'),
    },
  );
}
