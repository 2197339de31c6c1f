import { get } from '../api.js';
import { h, location, replace } from '../dom.js';
import { ago, count, duration, moment, plural, visible } from '../format.js';
import { go } from '../app.js';
import { bar, empty, errorText, heading, listTable, section, tile, time } from '../parts/pieces.js';
import { depthPlot } from '../parts/plot.js';
import { rowKeys } from '../parts/rows.js';

const RANGES = [
  [1, '1 hour'],
  [24, '1 day'],
  [168, '7 days'],
];
const REFRESH_MS = 10_000;

export async function overviewView(stage) {
  const hours = Number(new URL(location.href).searchParams.get('hours')) || 24;
  const draw = async () => {
    const [stats, groups] = await Promise.all([get('/stats', { hours }), get('/groups', { limit: 8 })]);
    replace(stage, page(stats, groups.items, hours));
  };
  await draw();
  const timer = globalThis.setInterval(() => void draw().catch(() => {}), REFRESH_MS);
  const unbind = rowKeys(
    () => [...stage.querySelectorAll('tr[data-href]')],
    (row) => go(row.dataset.href),
  );
  return () => (globalThis.clearInterval(timer), unbind());
}

function page(stats, groups, hours) {
  const oldest = Math.min(...stats.queues.flatMap(({ oldestAt }) => (oldestAt === null ? [] : [oldestAt])));
  const firing = stats.alerts.filter(({ state }) => state === 'firing');
  return [
    heading('Overview', h('span', { class: 'muted' }, `as of ${moment(stats.at)}`)),
    firing.map(({ rule, value, since }) =>
      h(
        'div',
        { class: 'notice bad', role: 'alert' },
        h('strong', {}, 'Alert: '),
        visible(rule),
        ` — now ${count(value)}, since ${ago(since)}`,
      ),
    ),
    h(
      'div',
      { class: 'tiles' },
      tile(
        'Open letters',
        stats.open,
        `in ${plural(stats.queues.filter(({ open }) => open > 0).length, 'queue')}`,
        stats.open > 0 ? 'warn' : 'good',
      ),
      tile(
        'Oldest',
        Number.isFinite(oldest) ? duration(stats.at - oldest) : '–',
        Number.isFinite(oldest) ? moment(oldest) : 'nothing open',
      ),
      tile('Requeued', stats.requeued, 'and not failed again'),
      tile('Discarded', stats.discarded, 'can be restored'),
      tile(
        'Dead events',
        h('a', { href: '/events' }, count(stats.deadEvents)),
        'outbox events given up',
        stats.deadEvents > 0 ? 'warn' : '',
      ),
      tile(
        'In Redis',
        stats.waiting === null ? '?' : stats.waiting,
        stats.waiting === null ? 'Redis is away' : 'waiting to be taken in',
      ),
    ),
    h(
      'section',
      { class: 'card' },
      h(
        'div',
        { class: 'heading' },
        h('h2', {}, 'Open letters over time'),
        h(
          'div',
          { class: 'aside', role: 'group', 'aria-label': 'Range' },
          RANGES.map(([n, text]) =>
            h(
              'a',
              {
                href: `/?hours=${n}`,
                class: `tab ${n === hours ? 'current' : ''}`,
                'aria-current': n === hours ? 'true' : undefined,
              },
              text,
            ),
          ),
        ),
      ),
      stats.depth.length > 0
        ? depthPlot(
            [...stats.depth, { at: stats.at, depth: stats.open }],
            Math.min(stats.depth[0].at, stats.at - 60_000),
            stats.at,
          )
        : empty('No samples yet; the first comes within a minute.'),
    ),
    section(
      'Causes',
      groups.length > 0 ? groupTable(groups) : empty('Nothing is open. Well done.'),
      h('p', {}, h('a', { href: '/groups' }, 'All groups')),
    ),
    section(
      'Queues',
      stats.queues.length > 0 ? queueTable(stats.queues) : empty('No dead letter has been seen yet.'),
    ),
  ];
}

export function groupTable(groups) {
  const largest = Math.max(1, ...groups.map(({ open }) => open));
  const row = (group) =>
    h(
      'tr',
      { 'data-href': `/groups/${group.id}` },
      h(
        'td',
        { class: 'wide' },
        h(
          'a',
          { href: `/groups/${group.id}`, class: 'row-link' },
          errorText(group.errorName, group.message, 140),
        ),
        group.frame && h('div', { class: 'mono small muted' }, h('bdi', {}, visible(group.frame))),
      ),
      h('td', { class: 'meter-cell' }, bar(group.open, largest)),
      h('td', { class: 'number', 'data-label': 'Open' }, count(group.open)),
      h('td', { class: 'number muted', 'data-label': 'Total' }, count(group.total)),
      h(
        'td',
        { 'data-label': 'Queues', class: 'small' },
        group.queues.map(({ queue }) => h('div', {}, h('bdi', {}, visible(queue)))),
      ),
      h('td', { class: 'when', 'data-label': 'First' }, time(group.firstSeenAt)),
      h('td', { class: 'when', 'data-label': 'Last' }, time(group.lastSeenAt)),
    );
  return listTable(
    [
      'Cause',
      { hidden: 'Share' },
      { number: 'Open' },
      { number: 'Total' },
      'Queues',
      'First seen',
      'Last seen',
    ],
    groups.map(row),
  );
}

function queueTable(queues) {
  const row = ({ queue, open, total, oldestAt }) =>
    h(
      'tr',
      {},
      h(
        'td',
        { class: 'wide' },
        h(
          'a',
          { href: `/letters?status=open&queue=${encodeURIComponent(queue)}` },
          h('bdi', {}, visible(queue)),
        ),
      ),
      h('td', { class: 'number', 'data-label': 'Open' }, count(open)),
      h('td', { class: 'number muted', 'data-label': 'Total' }, count(total)),
      h('td', { class: 'when', 'data-label': 'Oldest' }, oldestAt === null ? '–' : time(oldestAt)),
    );
  return listTable(['Queue', { number: 'Open' }, { number: 'Total' }, 'Oldest open'], queues.map(row));
}
