import { post } from '../api.js';
import { html, render, useEffect, useRef } from '../preact.js';
import { Form, Note } from './form.js';

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
        <div class="heading"><h2>${title}</h2><button class="quiet" aria-label="Close" onClick=${() => close(null)}>✕</button></div>
        ${body(close)}
      </div>
    </dialog>`;
}

/** Resolves with what was filled in when the answer is yes, with null otherwise. */
export const confirmDialog = (text, action, { danger = false, note = false } = {}) =>
  openDialog(
    action,
    (close) => html`
      <${Form} submit=${close} cancel=${() => close(null)} action=${action} tone=${danger ? 'danger' : 'primary'} focus>
        <p>${text}</p>
        ${note && html`<${Note} />`}
      <//>`,
  );

/** Asks, then sends it; resolves with the server's answer when it was done. */
export async function confirmAndPost(path, text, action, { danger = false, note = true } = {}) {
  const answer = await confirmDialog(text, action, { danger, note });
  return answer && attempt(() => post(path, answer));
}

/** Tells screen readers what just happened. */
export function announce(text) {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}

export function toast(text, kind = 'info') {
  announce(text);
  const box = document.createElement('div');
  box.className = `toast ${kind}`;
  box.textContent = text;
  document.getElementById('toasts')?.append(box);
  setTimeout(() => box.remove(), kind === 'bad' ? 9000 : 4500);
}

/** Does what a button asks for, and tells a refusal. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    toast(error.message, 'bad');
    return undefined;
  }
}
