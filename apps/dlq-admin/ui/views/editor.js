import { patch } from '../api.js';
import { Problem } from '../hooks.js';
import { confirmDialog, toast } from '../parts/dialog.js';
import { Form, Note } from '../parts/form.js';
import { Diff } from '../parts/payload.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { guardLeaving } from '../router.js';

function parse(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: { message: `Not JSON: ${error.message}` } };
  }
}

const ask = () => confirmDialog('What you changed is not saved.', 'Leave without saving', { danger: true });

/** Edits a payload as JSON text, with the difference beside it; saves from the version that was read. */
export function Editor({ letter: { id, version, payload }, done, cancel }) {
  const before = JSON.stringify(payload, null, 2);
  const [text, setText] = useState(before);
  const [error, setError] = useState(null);
  const area = useRef(null);
  const { value, fault } = parse(text);
  const changed = text !== before;
  const same = !fault && JSON.stringify(value) === JSON.stringify(payload);
  useEffect(() => area.current.focus(), []);
  useEffect(() => (changed ? guardLeaving(ask) : undefined), [changed]);
  const save = async (note) => {
    await patch(`/dead-letters/${id}/payload`, { payload: value, ...note }, { 'if-match': `"${version}"` });
    toast('Saved. The payload before is in the history.');
  };
  return html`
    <${Form} submit=${(note) => save(note).then(done, setError)} action="Save" disabled=${fault || same} cancel=${cancel}>
      <div class="two">
        <div><h3>New payload</h3><textarea ref=${area} class="mono" rows=${Math.min(30, before.split('\n').length + 3)} spellcheck="false"
          aria-label="Payload as JSON" aria-describedby="edit-problem" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></div>
        <div><h3>Changes</h3><${Diff} before=${before} after=${fault ? before : JSON.stringify(value, null, 2)} /></div>
      </div>
      <div id="edit-problem">${(fault || error) && html`<${Problem} head="Not saved." error=${fault ?? error} />`}</div>
      <${Note} id="edit-note" />
    <//>`;
}
