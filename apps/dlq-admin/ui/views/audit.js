import { download, get } from '../api.js';
import { h, location, replace, toast, URLSearchParams } from '../dom.js';
import { moment, visible } from '../format.js';
import { empty, heading, listTable } from '../parts/pieces.js';
import { tree } from '../parts/tree.js';
import { may } from '../state.js';

const LINKS = { letter: '/letters/', bulk: '/bulk/' };

export async function auditView(stage) {
  const params = new URL(location.href).searchParams;
  const target = params.get('target') ?? '';
  const page = await get('/audit', { limit: 50, target, cursor: params.get('cursor') });
  const verify = async () => {
    try {
      const report = await get('/audit/verify');
      if (report.state === 'intact') toast(`The chain of ${report.rows} rows is intact.`);
      else toast(`The chain is broken at row ${report.id}: ${report.problem}`, 'bad');
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  replace(
    stage,
    heading(
      'Audit',
      may('admin') && h('button', { on: { click: verify } }, 'Verify chain'),
      may('admin') &&
        h('button', { on: { click: () => download('/audit/export?limit=200', 'audit.csv') } }, 'Export CSV'),
    ),
    target && h('p', {}, `Only ${visible(target)}. `, h('a', { href: '/audit' }, 'All')),
    page.items.length > 0
      ? h(
          'section',
          { class: 'card' },
          listTable(['When', 'Who', 'What', 'On', 'Result', 'Details'], page.items.map(row)),
        )
      : empty('Nothing was done yet.'),
    page.next &&
      h(
        'p',
        {},
        h(
          'a',
          {
            class: 'button',
            href: `/audit?${new URLSearchParams({ ...(target && { target }), cursor: page.next })}`,
          },
          'Older',
        ),
      ),
  );
}

function row(entry) {
  const [kind, id] = (entry.target ?? '').split(':');
  return h(
    'tr',
    {},
    h('td', { class: 'when' }, moment(entry.at)),
    h(
      'td',
      { 'data-label': 'Who' },
      h('bdi', {}, visible(entry.actor)),
      h('div', { class: 'small muted' }, [entry.role, entry.ip].filter(Boolean).map(visible).join(' · ')),
    ),
    h('td', { 'data-label': 'What' }, h('strong', {}, visible(entry.action))),
    h(
      'td',
      { 'data-label': 'On', class: 'mono small' },
      LINKS[kind] ? h('a', { href: LINKS[kind] + id }, visible(entry.target)) : visible(entry.target ?? ''),
    ),
    h(
      'td',
      { 'data-label': 'Result' },
      h('span', { class: `chip ${entry.result === 'ok' ? 'completed' : 'warn'}` }, visible(entry.result)),
      entry.reason && h('div', { class: 'small' }, h('bdi', {}, visible(entry.reason))),
    ),
    h(
      'td',
      { class: 'wide' },
      (entry.before || entry.after) &&
        h(
          'details',
          {},
          h('summary', { class: 'small' }, 'before and after'),
          h('div', { class: 'two' }, tree(entry.before), tree(entry.after)),
        ),
    ),
  );
}
