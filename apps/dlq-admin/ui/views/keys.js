import { get, post } from '../api.js';
import { visible } from '../format.js';
import { useData } from '../hooks.js';
import { confirmDialog, openDialog } from '../parts/dialog.js';
import { Chip, Heading, ListTable, Section, Text, Time } from '../parts/pieces.js';
import { attempt, toast } from '../parts/toast.js';
import { html } from '../preact.js';

export function KeysView() {
  const page = useData(() => get('/keys'));
  const revoke = async ({ id, name }) => {
    const question = `Revoke ${visible(name)} (${id})? Its sessions end at once.`;
    const answer = await confirmDialog(question, 'Revoke', { danger: true, note: true });
    if (answer) await attempt(() => post(`/keys/${id}/revoke`, { note: answer.note }));
    if (answer) await page.reload();
  };
  return html`
    <${Heading} title="Keys" />
    <${NewKey} made=${page.reload} />
    ${page.show(
      ({ items }) => html`<section class="card">
        <${ListTable} titles=${['Key', 'Role', 'Queues', 'Created', 'Last used', 'State', { hidden: 'Actions' }]}>
          ${items.map((key) => html`<${Key} of=${key} revoke=${() => revoke(key)} />`)}
        <//></section>`,
    )}`;
}

function NewKey({ made }) {
  const create = (event) => {
    event.preventDefault();
    const { name, role, queues, days } = event.target.elements;
    const list = queues.value
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean);
    void attempt(async () => {
      const { key } = await post('/keys', {
        name: name.value,
        role: role.value,
        ...(list.length > 0 && { queues: list }),
        ...(days.value && { expiresInDays: Number(days.value) }),
      });
      await openDialog('The new key', () => html`<${Secret} of=${key} />`);
      await made();
    });
  };
  return html`
    <${Section} title="New key"><form class="fields" onSubmit=${create}>
      <div><label for="k-name">Name</label><input id="k-name" name="name" required maxlength="100" placeholder="who or what uses it" /></div>
      <div><label for="k-role">Role</label><select id="k-role" name="role">${['viewer', 'operator', 'admin'].map((one) => html`<option>${one}</option>`)}</select></div>
      <div><label for="k-queues">Queues</label><input id="k-queues" name="queues" placeholder="all, or names with commas" /></div>
      <div><label for="k-days">Expires in days</label><input id="k-days" name="days" type="number" min="1" max="3650" placeholder="never" /></div>
      <div class="submit"><button class="primary">Create</button></div>
    </form><//>`;
}

const Secret = ({ of }) => html`
  <p>Copy it now: it is not stored and cannot be shown again.</p>
  <p class="mono secret">${of}</p>
  <p><button onClick=${() => navigator.clipboard?.writeText(of).then(() => toast('Copied.'))}>Copy</button></p>`;

const Key = ({ of, revoke }) => html`
  <tr>
    <td><strong><${Text} of=${of.name} /></strong><div class="mono small muted">${of.id}</div></td>
    <td data-label="Role"><${Chip} of=${of.role} /></td>
    <td data-label="Queues">${of.queues ? of.queues.map((queue) => html`<div><${Text} of=${queue} /></div>`) : 'all'}</td>
    <td class="when" data-label="Created"><${Time} at=${of.createdAt} /></td>
    <td class="when" data-label="Last used">${of.lastUsedAt ? html`<${Time} at=${of.lastUsedAt} />` : '–'}</td>
    <td data-label="State">${stateOf(of)}</td>
    <td>${!of.revokedAt && html`<button class="danger" onClick=${revoke}>Revoke</button>`}</td>
  </tr>`;

function stateOf({ revokedAt, expiresAt }) {
  if (revokedAt) return html`<${Chip} of="revoked" tone="discarded" />`;
  if (expiresAt)
    return html`<span class="small">expires ${new Date(expiresAt).toISOString().slice(0, 10)}</span>`;
  return html`<${Chip} of="valid" tone="completed" />`;
}
