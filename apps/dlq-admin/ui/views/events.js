import { get, post } from '../api.js';
import { show } from '../app.js';
import { h, replace, toast } from '../dom.js';
import { count, visible } from '../format.js';
import { empty, heading, listTable, time } from '../parts/pieces.js';
import { longText, tree } from '../parts/tree.js';
import { may } from '../state.js';

export async function eventsView(stage) {
  const page = await get('/dead-events', { limit: 50 });
  const revive = async (id) => {
    try {
      await post(`/dead-events/${encodeURIComponent(id)}/revive`);
      toast('Revived: publishers will try it again.');
      await show();
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const row = (event) =>
    h(
      'tr',
      {},
      h(
        'td',
        { class: 'wide' },
        h('strong', {}, h('bdi', {}, visible(event.eventName))),
        h('div', { class: 'small' }, longText(event.lastError ?? '', '')),
        event.payload !== null &&
          h('details', {}, h('summary', { class: 'small' }, 'payload'), tree(event.payload)),
      ),
      h('td', { 'data-label': 'Queue' }, h('bdi', {}, visible(event.queue))),
      h('td', { class: 'mono small', 'data-label': 'Id' }, visible(event.id)),
      h('td', { class: 'number', 'data-label': 'Attempts' }, count(event.attempts)),
      h('td', { class: 'when', 'data-label': 'When' }, time(event.createdAt)),
      h('td', {}, may('operator') && h('button', { on: { click: () => revive(event.id) } }, 'Revive')),
    );
  replace(
    stage,
    heading('Dead events'),
    h(
      'p',
      { class: 'muted' },
      'Outbox events that publishers gave up after all their attempts. What they tell of is committed; only the message is missing.',
    ),
    page.items.length > 0
      ? h(
          'section',
          { class: 'card' },
          listTable(['Event', 'Queue', 'Id', 'Attempts', 'When', { hidden: 'Actions' }], page.items.map(row)),
        )
      : empty('No event was given up.'),
  );
}
