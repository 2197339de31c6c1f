import { identify, post, setCsrf } from '../api.js';
import { Problem } from '../hooks.js';
import { Field, Form } from '../parts/form.js';
import { html, useEffect, useState } from '../preact.js';

export function LoginView() {
  const [error, setError] = useState(null);
  useEffect(() => document.getElementById('key').focus(), []);
  const signIn = async ({ key = '' }) => {
    setCsrf((await post('/session', { key })).csrfToken);
    await identify();
  };
  return html`
    <${Form} class="card login" submit=${(values) => signIn(values).catch(setError)} action="Sign in">
      <img src="/assets/icon.svg" alt="" width="44" height="44" />
      <h1>Millrace</h1>
      <p class="muted">Sign in with an API key. <code>millrace keys create</code> makes one.</p>
      <${Field} name="key" label="API key" type="password" autocomplete="off" required maxlength="512" placeholder="mr_…" />
      ${error && html`<${Problem} error=${error} head="" />`}
    <//>`;
}
