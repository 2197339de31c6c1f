import { html, render, useEffect, useRef } from '../preact.js';

/** Opens a modal dialog around `body(close)`; resolves with what `close(value)` was given, null when dismissed. */
export function openDialog(title, body) {
  return new Promise((resolve) => {
    const place = document.body.appendChild(document.createElement('div'));
    const ended = (answer) => {
      render(null, place);
      place.remove();
      resolve(answer);
    };
    render(html`<${Dialog} title=${title} body=${body} ended=${ended} />`, place);
  });
}

function Dialog({ title, body, ended }) {
  const dialog = useRef(null);
  const answer = useRef(null);
  const close = (value) => {
    answer.current = value;
    dialog.current.close();
  };
  useEffect(() => dialog.current.showModal(), []);
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${() => ended(answer.current)}
      onClick=${(event) => event.target === dialog.current && close(null)}>
      <div class="dialog-body">
        <header><h2>${title}</h2><button class="quiet" aria-label="Close" onClick=${() => close(null)}>✕</button></header>
        ${body(close)}
      </div>
    </dialog>`;
}

export const noteHint = 'Why (kept in history and audit log)';

export function confirmDialog(text, action, { danger = false, note = false } = {}) {
  return openDialog(action, (close) => {
    const submit = (event) => {
      event.preventDefault();
      close({ note: event.target.elements.note?.value || undefined });
    };
    return html`
      <form onSubmit=${submit}>
        <p>${text}</p>
        ${note && html`<p><label for="note">Note</label><input id="note" name="note" maxlength="500" placeholder=${noteHint} /></p>`}
        <footer>
          <button type="button" onClick=${() => close(null)}>Cancel</button>
          <button class=${danger ? 'danger' : 'primary'} autofocus>${action}</button>
        </footer>
      </form>`;
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
  ['g then p g l b q e a', 'go to the pipeline, groups, letters, bulk, queues, events, audit'],
  ['Esc', 'leave a field, close a dialog'],
  ['?', 'this help'],
];

const keysOf = (keys) =>
  keys.split(' ').map((key) => (key === 'then' || key === '' ? ` ${key} ` : html`<kbd>${key}</kbd>`));

export const helpDialog = () =>
  openDialog(
    'Keyboard',
    () => html`
      <table class="plain"><tbody>
        ${SHORTCUTS.map(([keys, text]) => html`<tr><th scope="row">${keysOf(keys)}</th><td>${text}</td></tr>`)}
      </tbody></table>`,
  );
