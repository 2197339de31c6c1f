import { document, h } from '../dom.js';

/** Opens a modal dialog; resolves with what `close(value)` was given, null when dismissed. */
export function openDialog(title, build) {
  return new Promise((resolve) => {
    let answer = null;
    const close = (value) => {
      answer = value;
      dialog.close();
    };
    const dialog = h(
      'dialog',
      {
        'aria-label': title,
        on: {
          close: () => (dialog.remove(), resolve(answer)),
          click: (event) => event.target === dialog && dialog.close(),
        },
      },
      h(
        'div',
        { class: 'dialog-body' },
        h(
          'header',
          {},
          h('h2', {}, title),
          h('button', { class: 'quiet', 'aria-label': 'Close', on: { click: () => dialog.close() } }, '✕'),
        ),
        build(close),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

export function confirmDialog(text, action, { danger = false, note = false } = {}) {
  return openDialog(action, (close) => {
    const field = h('input', {
      id: 'note',
      maxlength: 500,
      placeholder: 'Why (kept in history and audit log)',
    });
    return h(
      'form',
      {
        method: 'dialog',
        on: { submit: (event) => (event.preventDefault(), close({ note: field.value || undefined })) },
      },
      h('p', {}, text),
      note && h('p', {}, h('label', { for: 'note' }, 'Note'), field),
      h(
        'footer',
        {},
        h('button', { type: 'button', on: { click: () => close(null) } }, 'Cancel'),
        h('button', { class: danger ? 'danger' : 'primary', autofocus: true }, action),
      ),
    );
  });
}

const SHORTCUTS = [
  ['/', 'search letters'],
  ['j  k', 'next, previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['r', 'requeue (row, selection or letter)'],
  ['d', 'discard'],
  ['e', 'edit the payload'],
  ['g then o g l b e a', 'go to overview, groups, letters, bulk, events, audit'],
  ['Esc', 'leave a field, close a dialog'],
  ['?', 'this help'],
];

export function helpDialog() {
  return openDialog('Keyboard', () =>
    h(
      'table',
      { class: 'plain' },
      h(
        'tbody',
        {},
        SHORTCUTS.map(([keys, text]) =>
          h(
            'tr',
            {},
            h(
              'th',
              { scope: 'row' },
              keys.split(' ').map((key) => (key === 'then' || key === '' ? ` ${key} ` : h('kbd', {}, key))),
            ),
            h('td', {}, text),
          ),
        ),
      ),
    ),
  );
}
