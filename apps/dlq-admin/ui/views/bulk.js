import { get, post } from '../api.js';
import { go } from '../app.js';
import { announce, h, replace, toast } from '../dom.js';
import { count, plural, visible } from '../format.js';
import { confirmDialog } from '../parts/dialog.js';
import { empty, facts, heading, listTable, section, tile, time } from '../parts/pieces.js';
import { rowKeys } from '../parts/rows.js';
import { may } from '../state.js';

const RUNNING = new Set(['frozen', 'running']);

export async function bulkListView(stage) {
  const page = await get('/bulk-actions', { limit: 50 });
  const row = (action) =>
    h(
      'tr',
      { 'data-href': `/bulk/${action.id}` },
      h(
        'td',
        {},
        h(
          'a',
          { href: `/bulk/${action.id}`, class: 'row-link' },
          `${action.kind} ${plural(action.total, 'letter')}`,
        ),
      ),
      h('td', {}, h('span', { class: `chip ${action.status}` }, action.status)),
      h('td', { class: 'meter-cell' }, progress(action)),
      h('td', { 'data-label': 'By' }, h('bdi', {}, visible(action.createdBy))),
      h('td', { class: 'when', 'data-label': 'Begun' }, time(action.createdAt)),
    );
  replace(
    stage,
    heading('Bulk actions'),
    page.items.length > 0
      ? h(
          'section',
          { class: 'card' },
          listTable(['Action', 'Status', 'Progress', 'By', 'Begun'], page.items.map(row)),
        )
      : empty('None yet. Requeue or discard a group, or all letters that fit a filter.'),
  );
  return rowKeys(
    () => [...stage.querySelectorAll('tr[data-href]')],
    (row) => go(row.dataset.href),
  );
}

function progress({ total, done, skipped, kind }) {
  return h('progress', {
    max: Math.max(1, total),
    value: done + skipped,
    'aria-label': `${kind}: ${done + skipped} of ${total}`,
  });
}

export async function bulkView(stage, [id]) {
  let timer;
  let told = '';
  const draw = async () => {
    const action = await get(`/bulk-actions/${id}`);
    replace(stage, page(action, abort));
    if (action.status !== told) announce(`Bulk action is ${action.status}`);
    told = action.status;
    if (RUNNING.has(action.status)) timer = setTimeout(() => void draw().catch(() => {}), 700);
  };
  const abort = async () => {
    if (
      !(await confirmDialog('What is done stays done; what waits stays as it is.', 'Abort', { danger: true }))
    )
      return;
    await post(`/bulk-actions/${id}/abort`).catch((error) => toast(error.message, 'bad'));
    clearTimeout(timer);
    await draw();
  };
  await draw();
  return () => clearTimeout(timer);
}

function page(action, abort) {
  const running = RUNNING.has(action.status);
  const waiting = action.total - action.done - action.skipped;
  return [
    h(
      'p',
      { class: 'crumbs' },
      h('a', { href: '/bulk' }, 'Bulk actions'),
      ' / ',
      h('span', { class: 'mono' }, action.id),
    ),
    heading(
      [
        `${action.kind[0].toUpperCase()}${action.kind.slice(1)} ${plural(action.total, 'letter')} `,
        h('span', { class: `chip ${action.status}` }, action.status),
      ],
      running && may('operator') && h('button', { class: 'danger', on: { click: abort } }, 'Abort'),
    ),
    action.reason &&
      h('div', { class: `notice ${action.status === 'stopped' ? 'bad' : ''}` }, visible(action.reason)),
    h(
      'section',
      { class: 'card' },
      h(
        'div',
        { class: 'big-progress' },
        progress(action),
        h('strong', {}, `${count(action.done + action.skipped)} / ${count(action.total)}`),
      ),
      h(
        'div',
        { class: 'tiles flat' },
        tile('Done', action.done, '', 'good'),
        tile('Passed over', action.skipped, '', action.skipped ? 'warn' : ''),
        tile('Failed again', action.failedAgain, '', action.failedAgain ? 'bad' : ''),
        tile('Waiting', waiting),
      ),
      action.skippedReasons.length > 0 &&
        h(
          'p',
          {},
          'Passed over: ',
          action.skippedReasons.map(({ reason, count: n }) =>
            h('span', { class: 'chip warn' }, `${count(n)} ${visible(reason)}`),
          ),
        ),
    ),
    section(
      'How',
      facts([
        ['By', action.createdBy],
        ['Begun', time(action.createdAt)],
        action.finishedAt && ['Ended', time(action.finishedAt)],
        ['Rate', action.ratePerSecond ? `${count(action.ratePerSecond)} a second` : 'no limit'],
        [
          'Canary',
          action.canary
            ? h(
                'span',
                {},
                action.canary.steps.map((size, index) =>
                  h(
                    'span',
                    {
                      class: `chip step ${index < action.canary.step ? 'completed' : index === action.canary.step ? 'running' : ''}`,
                    },
                    count(size),
                  ),
                ),
                action.canary.waiting && running ? ' waiting for the outcome' : '',
              )
            : 'no',
        ],
        ['Selection', h('code', {}, visible(JSON.stringify(action.selection)))],
      ]),
    ),
  ];
}
