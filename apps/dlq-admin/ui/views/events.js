import { get, may, post } from '../api.js';
import { useData } from '../hooks.js';
import { attempt, toast } from '../parts/dialog.js';
import { LongText, Tree } from '../parts/payload.js';
import { Heading, Section, Table, Text } from '../parts/pieces.js';
import { html } from '../preact.js';

export function EventsView() {
  const page = useData(() => get('/dead-events', { limit: 50 }));
  const revive = (id) =>
    attempt(async () => {
      await post(`/dead-events/${encodeURIComponent(id)}/revive`);
      toast('Revived: publishers will try it again.');
      await page.reload();
    });
  const button = ({ id }) => may('operator') && html`<button onClick=${() => revive(id)}>Revive</button>`;
  const columns = [
    ['Event', what, 'wide'],
    ['Queue', 'queue'],
    ['Id', 'id', 'mono small'],
    ['Attempts', 'attempts', 'number'],
    ['When', 'createdAt', 'when'],
    ['Actions', button, 'unseen'],
  ];
  return html`
    <${Heading} title="Dead events" />
    <p class="muted">Outbox events that publishers gave up after all their attempts. What they tell of is committed; only the message is missing.</p>
    ${page.show(({ items }) => html`<${Section}><${Table} items=${items} columns=${columns} empty="No event was given up." /><//>`)}`;
}

const what = ({ eventName, lastError, payload }) => html`
  <strong><${Text} of=${eventName} /></strong>
  <div class="small"><${LongText} of=${lastError ?? ''} /></div>
  ${payload !== null && html`<details><summary class="small">payload</summary><${Tree} of=${payload} /></details>`}`;
