import { identify, post, setCsrf } from '../api.js';
import { Problem } from '../hooks.js';
import { html, useEffect, useRef, useState } from '../preact.js';

export function LoginView() {
  const [error, setError] = useState(null);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    try {
      setCsrf((await post('/session', { key: field.current.value.trim() })).csrfToken);
      await identify();
    } catch (refusal) {
      setError(refusal);
    }
  };
  return html`
    <form class="card login" onSubmit=${submit}>
      <img src="/assets/icon.svg" alt="" width="44" height="44" />
      <h1>Millrace</h1>
      <p class="muted">Sign in with an API key. <code>millrace keys create</code> makes one.</p>
      <label for="key">API key</label>
      <input id="key" ref=${field} type="password" autocomplete="off" required maxlength="512" placeholder="mr_…" />
      ${error && html`<${Problem} error=${error} head="" />`}
      <button class="primary">Sign in</button>
    </form>`;
}
