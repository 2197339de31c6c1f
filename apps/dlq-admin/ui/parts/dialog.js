import { post } from '../api.js';
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

/** Fields and the button that sends them. `submit` is given what was filled in, by name; blanks are left out. */
export function Form({ submit, action, tone = 'primary', cancel = null, children, ...more }) {
  const { disabled, focus, ...rest } = more;
  const send = (event) => {
    event.preventDefault();
    const filled = [...new FormData(event.target)].map(([name, value]) => [name, String(value).trim()]);
    return submit(Object.fromEntries(filled.filter(([, value]) => value)));
  };
  return html`
    <form onSubmit=${send} ...${rest}>
      ${children}
      <footer class="row">
        ${cancel && html`<button type="button" onClick=${cancel}>Cancel</button>`}
        <button class=${tone} disabled=${disabled} autofocus=${focus}>${action}</button>
      </footer>
    </form>`;
}

/** A labelled input, or another element, or a choice of `options` (values, or [value, text]). `known` are suggestions. */
export function Field({ name, label, id = name, as = 'input', class: size = '', value = '', ...more }) {
  const { options, known, ...rest } = more;
  const option = (one) => {
    const [key, text = key] = [one].flat();
    return html`<option value=${key} selected=${key === value}>${text}</option>`;
  };
  return html`
    <div class=${size}>
      <label for=${id}>${label}</label>
      ${
        options
          ? html`<select id=${id} name=${name} ...${rest}>${options.map(option)}</select>`
          : html`<${as} id=${id} name=${name} defaultValue=${value} list=${known && `l-${name}`} ...${rest} />`
      }
      ${known && html`<datalist id="l-${name}">${known.map((one) => html`<option value=${one}></option>`)}</datalist>`}
    </div>`;
}

export const Note = (props) =>
  html`<${Field} name="note" label="Note" maxlength="500" placeholder="Why (kept in history and audit log)" ...${props} />`;
