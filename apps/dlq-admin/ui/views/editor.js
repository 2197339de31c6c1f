import { patch } from '../api.js';
import { Problem } from '../hooks.js';
import { confirmDialog, noteHint } from '../parts/dialog.js';
import { Diff } from '../parts/diff.js';
import { toast } from '../parts/toast.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { guardLeaving } from '../router.js';

function parse(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `Not JSON: ${error.message}` };
  }
}

const ask = () => confirmDialog('What you changed is not saved.', 'Leave without saving', { danger: true });

/** Edits a payload as JSON text, with the difference beside it; saves from the version that was read. */
export function Editor({ letter, done, cancel }) {
  const before = JSON.stringify(letter.payload, null, 2);
  const [text, setText] = useState(before);
  const [error, setError] = useState(null);
  const area = useRef(null);
  const { value, fault } = parse(text);
  const changed = text !== before;
  const same = fault === undefined && JSON.stringify(value) === JSON.stringify(letter.payload);
  useEffect(() => area.current.focus(), []);
  useEffect(() => (changed ? guardLeaving(ask) : undefined), [changed]);
  const submit = (event) => {
    event.preventDefault();
    save(letter, value, event.target.elements.note.value).then(done, setError);
  };
  return html`
    <form class="editor" onSubmit=${submit}>
      <div class="two">
        <div><h3>New payload</h3><textarea ref=${area} class="mono" rows=${Math.min(30, before.split('\n').length + 3)} spellcheck="false"
          aria-label="Payload as JSON" aria-describedby="edit-problem" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></div>
        <div><h3>Changes</h3><${Diff} before=${before} after=${fault ? before : JSON.stringify(value, null, 2)} /></div>
      </div>
      <div id="edit-problem">${(fault || error) && html`<${Problem} head="Not saved." error=${fault ? { message: fault } : error} />`}</div>
      <p><label for="edit-note">Note</label><input id="edit-note" name="note" maxlength="500" placeholder=${noteHint} /></p>
      <footer><button type="button" onClick=${cancel}>Cancel</button><button class="primary" disabled=${fault || same}>Save</button></footer>
    </form>`;
}

async function save({ id, version }, payload, note) {
  const headers = { 'if-match': `"${version}"` };
  await patch(`/dead-letters/${id}/payload`, { payload, ...(note && { note }) }, headers);
  toast('Saved. The payload before is in the history.');
}
