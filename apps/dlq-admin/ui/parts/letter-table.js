import { h } from '../dom.js';
import { moment, visible } from '../format.js';
import { errorText, listTable, reasonChip, statusChip, time } from './pieces.js';

/** Letters as a table; `selected` is a set of ids that the check boxes change. */
export function letterTable(letters, selected, onSelect) {
  const check = (letter) =>
    h('input', {
      type: 'checkbox',
      'aria-label': `Select letter ${letter.id}`,
      checked: selected.has(letter.id),
      on: {
        change: (event) => {
          if (event.target.checked) selected.add(letter.id);
          else selected.delete(letter.id);
          onSelect();
        },
      },
    });
  const row = (letter) =>
    h(
      'tr',
      { 'data-id': letter.id },
      h('td', { class: 'narrow' }, check(letter)),
      h('td', { class: 'narrow' }, statusChip(letter.status)),
      h(
        'td',
        { class: 'wide' },
        h(
          'a',
          { href: `/letters/${letter.id}`, class: 'row-link' },
          errorText(letter.errorName, letter.errorMessage, 160),
        ),
        ' ',
        reasonChip(letter.reason),
      ),
      h(
        'td',
        { class: 'cut', 'data-label': 'Queue', title: visible(letter.queue) },
        h('bdi', {}, visible(letter.queue)),
      ),
      h(
        'td',
        { class: 'cut mono small', 'data-label': 'Job', title: visible(letter.jobId) },
        h('bdi', {}, visible(letter.jobId)),
      ),
      h(
        'td',
        { class: 'cut mono small', 'data-label': 'Worker', title: visible(letter.lastWorkerId) },
        h('bdi', {}, visible(letter.lastWorkerId)),
      ),
      h('td', { class: 'number', 'data-label': 'Replays' }, letter.replayCount || '–'),
      h(
        'td',
        { class: 'when', 'data-label': 'When', title: moment(letter.deadLetteredAt) },
        time(letter.deadLetteredAt),
      ),
    );
  return listTable(
    [{ hidden: 'Select' }, 'Status', 'Error', 'Queue', 'Job', 'Last worker', 'Replays', 'When'],
    letters.map(row),
  );
}
