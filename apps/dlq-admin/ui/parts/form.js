import { html } from '../preact.js';

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
