import { get, may, post } from '../api.js';
import { count } from '../format.js';
import { useData } from '../hooks.js';
import { Empty, Heading, ListTable, Text, Time } from '../parts/pieces.js';
import { attempt, toast } from '../parts/toast.js';
import { LongText, Tree } from '../parts/tree.js';
import { html } from '../preact.js';

export function EventsView() {
  const page = useData(() => get('/dead-events', { limit: 50 }));
  const revive = (id) =>
    attempt(async () => {
      await post(`/dead-events/${encodeURIComponent(id)}/revive`);
      toast('Revived: publishers will try it again.');
      await page.reload();
    });
  return html`
    <${Heading} title="Dead events" />
    <p class="muted">Outbox events that publishers gave up after all their attempts. What they tell of is committed; only the message is missing.</p>
    ${page.show(({ items }) =>
      items.length === 0
        ? html`<${Empty}>No event was given up.<//>`
        : html`<section class="card"><${ListTable} titles=${['Event', 'Queue', 'Id', { number: 'Attempts' }, 'When', { hidden: 'Actions' }]}>
            ${items.map((event) => html`<${Event} of=${event} revive=${() => revive(event.id)} />`)}
          <//></section>`,
    )}`;
}

const Event = ({ of, revive }) => html`
  <tr>
    <td class="wide"><strong><${Text} of=${of.eventName} /></strong>
      <div class="small"><${LongText} of=${of.lastError ?? ''} /></div>
      ${of.payload !== null && html`<details><summary class="small">payload</summary><${Tree} of=${of.payload} /></details>`}</td>
    <td data-label="Queue"><${Text} of=${of.queue} /></td>
    <td class="mono small" data-label="Id"><${Text} of=${of.id} /></td>
    <td class="number" data-label="Attempts">${count(of.attempts)}</td>
    <td class="when" data-label="When"><${Time} at=${of.createdAt} /></td>
    <td>${may('operator') && html`<button onClick=${revive}>Revive</button>`}</td>
  </tr>`;
