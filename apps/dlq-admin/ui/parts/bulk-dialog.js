import { post } from '../api.js';
import { h, replace, toast } from '../dom.js';
import { count, plural, visible } from '../format.js';
import { openDialog } from './dialog.js';
import { bar } from './pieces.js';

const VERBS = { requeue: 'Requeue', discard: 'Discard', restore: 'Restore' };

/**
 * Asks for a bulk action: shows a dry run first, then starts exactly that. Resolves with the action, or null.
 * `selection` is { ids } or { filter }.
 */
export function bulkDialog(kind, selection, what) {
  return openDialog(`${VERBS[kind]} ${what}`, (close) => {
    const rate = h('input', { id: 'rate', type: 'number', min: 1, max: 100000, placeholder: 'no limit' });
    const canary = h('input', { id: 'canary', type: 'checkbox', checked: kind === 'requeue' });
    const note = h('input', {
      id: 'bulk-note',
      autofocus: true,
      maxlength: 500,
      placeholder: 'Why (kept in history and audit log)',
    });
    const preview = h('div', { class: 'preview' }, h('p', { class: 'loading' }, 'Counting…'));
    const start = h('button', { class: kind === 'discard' ? 'danger' : 'primary', disabled: true }, 'Start');
    let confirm;
    post('/bulk-actions', { kind, ...selection, dryRun: true }).then(
      (shown) => {
        confirm = shown.confirm;
        start.disabled = shown.eligible === 0;
        start.textContent = `${VERBS[kind]} ${plural(shown.eligible, 'letter')}`;
        replace(preview, previewOf(shown));
      },
      (error) => replace(preview, h('div', { class: 'notice bad', role: 'alert' }, error.message)),
    );
    const submit = async (event) => {
      event.preventDefault();
      start.disabled = true;
      try {
        const body = {
          kind,
          ...selection,
          ...(selection.filter && { confirm }),
          ...(rate.value && { ratePerSecond: Number(rate.value) }),
          ...(kind === 'requeue' && canary.checked && { canary: {} }),
          ...(note.value && { note: note.value }),
        };
        close(await post('/bulk-actions', body));
      } catch (error) {
        start.disabled = false;
        toast(error.message, 'bad');
      }
    };
    return h(
      'form',
      { on: { submit } },
      preview,
      kind === 'requeue' &&
        h(
          'p',
          {},
          h(
            'label',
            { class: 'inline' },
            canary,
            ' Canary: 1, 2, 5, 20 … letters first; stop when one fails again',
          ),
        ),
      h(
        'div',
        { class: 'fields' },
        h('div', {}, h('label', { for: 'rate' }, 'Letters a second'), rate),
        h('div', { class: 'grow' }, h('label', { for: 'bulk-note' }, 'Note'), note),
      ),
      h('footer', {}, h('button', { type: 'button', on: { click: () => close(null) } }, 'Cancel'), start),
    );
  });
}

function previewOf({ total, eligible, skipped, reasons }) {
  const largest = Math.max(1, ...reasons.map((reason) => reason.count));
  return [
    h(
      'p',
      { class: 'big' },
      h('strong', {}, count(eligible)),
      ` of ${plural(total, 'letter')}`,
      skipped.map(({ reason, count: n }) => h('span', { class: 'chip warn' }, `${count(n)} ${reason}`)),
    ),
    h(
      'table',
      { class: 'plain bars' },
      h(
        'tbody',
        {},
        reasons
          .slice(0, 8)
          .map((reason) =>
            h(
              'tr',
              {},
              h(
                'td',
                {},
                h('strong', {}, h('bdi', {}, visible(reason.errorName))),
                ' ',
                h('bdi', { class: 'muted' }, visible(reason.message.slice(0, 90))),
              ),
              h('td', { class: 'meter-cell' }, bar(reason.count, largest)),
              h('td', { class: 'number' }, count(reason.count)),
            ),
          ),
      ),
    ),
    reasons.length > 8 && h('p', { class: 'muted' }, `and ${plural(reasons.length - 8, 'more cause')}`),
  ];
}
