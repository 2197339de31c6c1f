import { get, post } from '../api.js';
import { visible } from '../format.js';
import { useData } from '../hooks.js';
import { attempt, confirmAndPost, Field, Form, openDialog, toast } from '../parts/dialog.js';
import { Chip, Heading, Section, Table, Text } from '../parts/pieces.js';
import { html } from '../preact.js';

export function KeysView() {
  const page = useData(() => get('/keys'));
  const revoke = async ({ id, name }) => {
    const question = `Revoke ${visible(name)} (${id})? Its sessions end at once.`;
    if (await confirmAndPost(`/keys/${id}/revoke`, question, 'Revoke', { danger: true })) await page.reload();
  };
  const button = (key) =>
    !key.revokedAt && html`<button class="danger" onClick=${() => revoke(key)}>Revoke</button>`;
  const columns = [
    ['Key', nameOf, 'bare'],
    ['Role', ({ role }) => html`<${Chip} of=${role} />`],
    ['Queues', ({ queues }) => queues?.map((queue) => html`<div><${Text} of=${queue} /></div>`) ?? 'all'],
    ['Created', 'createdAt', 'when'],
    ['Last used', 'lastUsedAt', 'when'],
    ['State', stateOf],
    ['Actions', button, 'unseen'],
  ];
  return html`
    <${Heading} title="Keys" />
    <${NewKey} made=${page.reload} />
    ${page.show(({ items }) => html`<${Section}><${Table} items=${items} columns=${columns} /><//>`)}`;
}

function NewKey({ made }) {
  const create = ({ name, role, queues, days }) =>
    attempt(async () => {
      const names = queues?.split(',').map((one) => one.trim());
      const expiresInDays = days && Number(days);
      const { key } = await post('/keys', { name, role, queues: names?.filter(Boolean), expiresInDays });
      await openDialog('The new key', () => html`<${Secret} of=${key} />`);
      await made();
    });
  return html`
    <${Section} title="New key"><${Form} class="fields" submit=${create} action="Create">
      <${Field} name="name" label="Name" required maxlength="100" placeholder="who or what uses it" />
      <${Field} name="role" label="Role" options=${['viewer', 'operator', 'admin']} />
      <${Field} name="queues" label="Queues" placeholder="all, or names with commas" />
      <${Field} name="days" label="Expires in days" type="number" min="1" max="3650" placeholder="never" />
    <//><//>`;
}

const Secret = ({ of }) => html`
  <p>Copy it now: it is not stored and cannot be shown again.</p>
  <p class="mono secret">${of}</p>
  <p><button onClick=${() => navigator.clipboard?.writeText(of).then(() => toast('Copied.'))}>Copy</button></p>`;

const nameOf = ({ id, name }) =>
  html`<strong><${Text} of=${name} /></strong><div class="mono small muted">${id}</div>`;

function stateOf({ revokedAt, expiresAt }) {
  if (revokedAt) return html`<${Chip} of="revoked" tone="discarded" />`;
  if (!expiresAt) return html`<${Chip} of="valid" tone="completed" />`;
  return html`<span class="small">expires ${new Date(expiresAt).toISOString().slice(0, 10)}</span>`;
}
