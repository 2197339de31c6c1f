import { get, patch, post } from '../api.js';
import { shorten, visible } from '../format.js';
import { html, useEffect, useState } from '../preact.js';
import { go } from '../router.js';
import { openDialog } from './dialog.js';
import { attempt } from './toast.js';

/** @import { Group } from '#dlq-client' */

const HOUR_MS = 3_600_000;
const MUTES = [
  ['1', '1 hour'],
  ['8', '8 hours'],
  ['24', '1 day'],
  ['168', '7 days'],
];
const FIELDS = ['queue', 'name', 'reason', 'worker', 'message'];

/** What people may do with a cause besides its letters; true when something was done. @param {Group} group */
export const groupDialog = (group) =>
  openDialog(
    'This group',
    (close) => html`<${Tend} of=${group} close=${close} /><${Regroup} of=${group} close=${close} />`,
  );

function Tend({ of, close }) {
  const submit = async (event) => {
    event.preventDefault();
    const { note, owner, mute } = event.target.elements;
    const hours = Number(mute.value);
    const mutedUntil = mute.value === 'as it is' ? undefined : hours ? Date.now() + hours * HOUR_MS : null;
    const change = { note: note.value || null, owner: owner.value || null, mutedUntil };
    if (await attempt(() => patch(`/groups/${of.id}`, change))) close(true);
  };
  return html`
    <form onSubmit=${submit}>
      <p><label for="g-note">Note</label><textarea id="g-note" name="note" rows="3" maxlength="2000" autofocus defaultValue=${of.note ?? ''}></textarea></p>
      <div class="fields">
        <div class="grow"><label for="g-owner">Owner</label><input id="g-owner" name="owner" maxlength="100" defaultValue=${of.owner ?? ''} placeholder="who looks after it" /></div>
        <div><label for="g-mute">Raises no alert for</label><select id="g-mute" name="mute">
          <option>as it is</option><option value="0">not muted</option>
          ${MUTES.map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></div>
      </div>
      <footer><button type="button" onClick=${() => close(null)}>Cancel</button><button class="primary">Save</button></footer>
    </form>`;
}

/** Makes one cause of two, or several of one. */
function Regroup({ of, close }) {
  const [others, set] = useState([]);
  useEffect(() => {
    void get('/groups', { status: 'any', limit: 200 }).then(
      ({ items }) => set(items),
      () => {},
    );
  }, []);
  const send = (what, body) => async (event) => {
    event.preventDefault();
    const done = await attempt(() => post(`/groups/${of.id}/${what}`, body(event.target.elements)));
    if (!done) return;
    close(true);
    await go(what === 'merge' ? `/groups/${done.id}` : '/groups');
  };
  const label = ({ errorName, newest, message }) =>
    shorten(visible(`${errorName}: ${newest ?? message}`), 90);
  return html`
    <form class="fields" onSubmit=${send('split', ({ field }) => ({ field: field.value }))}>
      <div class="grow"><label for="g-field">Split into a group for each</label>
        <input id="g-field" name="field" required list="g-fields" pattern="${FIELDS.join('|')}|payload\\..+" placeholder="queue, worker, payload.user.id" />
        <datalist id="g-fields">${FIELDS.map((field) => html`<option value=${field}></option>`)}</datalist></div>
      <div class="submit"><button>Split</button></div>
    </form>
    <form class="fields" onSubmit=${send('merge', ({ into }) => ({ into: into.value }))}>
      <div class="grow"><label for="g-into">Is the same as</label><select id="g-into" name="into" required>
        <option value="">choose a group</option>
        ${others.filter(({ id }) => id !== of.id).map((group) => html`<option value=${group.id}>${label(group)}</option>`)}</select></div>
      <div class="submit"><button>Merge into it</button></div>
    </form>`;
}
