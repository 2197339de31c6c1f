import { get, patch, post } from '../api.js';
import { shorten, visible } from '../format.js';
import { useData } from '../hooks.js';
import { html } from '../preact.js';
import { go } from '../router.js';
import { attempt, openDialog } from './dialog.js';
import { Field, Form } from './form.js';

/** @import { Group } from '#dlq-client' */

const HOUR_MS = 3_600_000;
const MUTES = { 0: 'not muted', 1: '1 hour', 8: '8 hours', 24: '1 day', 168: '7 days' };
const FIELDS = ['queue', 'name', 'reason', 'worker', 'message'];

/** What people may do with a cause besides its letters; true when something was done. @param {Group} group */
export function groupDialog(group) {
  const body = (close) =>
    html`<${Tend} of=${group} close=${close} /><${Regroup} of=${group} close=${close} />`;
  return openDialog('This group', body);
}

function Tend({ of, close }) {
  const save = async ({ note = null, owner = null, mute }) => {
    const hours = Number(mute);
    const mutedUntil = mute === 'as it is' ? undefined : hours ? Date.now() + hours * HOUR_MS : null;
    if (await attempt(() => patch(`/groups/${of.id}`, { note, owner, mutedUntil }))) close(true);
  };
  return html`
    <${Form} submit=${save} cancel=${() => close(null)} action="Save">
      <${Field} as="textarea" name="note" label="Note" rows="3" maxlength="2000" autofocus value=${of.note ?? ''} />
      <div class="fields">
        <${Field} name="owner" label="Owner" class="grow" maxlength="100" value=${of.owner ?? ''} placeholder="who looks after it" />
        <${Field} name="mute" label="Raises no alert for" options=${['as it is', ...Object.entries(MUTES)]} />
      </div>
    <//>`;
}

const label = ({ errorName, newest, message }) => shorten(visible(`${errorName}: ${newest ?? message}`), 90);

/** Makes one cause of two, or several of one. */
function Regroup({ of, close }) {
  const found = useData(() => get('/groups', { status: 'any', limit: 200 })).value?.items ?? [];
  const others = found.filter(({ id }) => id !== of.id).map((group) => [group.id, label(group)]);
  const send = (what) => async (body) => {
    const done = await attempt(() => post(`/groups/${of.id}/${what}`, body));
    if (!done) return;
    close(true);
    await go(what === 'merge' ? `/groups/${done.id}` : '/groups');
  };
  return html`
    <${Form} class="fields" submit=${send('split')} action="Split" tone="">
      <${Field} name="field" label="Split into a group for each" class="grow" required known=${FIELDS} pattern="${FIELDS.join('|')}|payload\\..+" placeholder="queue, worker, payload.user.id" />
    <//>
    <${Form} class="fields" submit=${send('merge')} action="Merge into it" tone="">
      <${Field} name="into" label="Is the same as" class="grow" required options=${[['', 'choose a group'], ...others]} />
    <//>`;
}
