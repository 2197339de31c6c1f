import { get } from '../api.js';
import { count, plural } from '../format.js';
import { useData } from '../hooks.js';
import { Chip, Crumbs, Facts, Heading, Mono, Section, Time } from '../parts/pieces.js';
import { Items, Letters, Timeline } from '../parts/story.js';
import { Tree } from '../parts/tree.js';
import { html } from '../preact.js';

/** @import { BatchView as Batch } from '#dlq-client' */

const REFRESH_MS = 5_000;

export function BatchView({ match: [id] }) {
  return useData(() => get(`/batches/${id}`), REFRESH_MS).show((of) => html`<${Story} of=${of} />`);
}

/** @param {{ of: Batch }} props */
const Story = ({ of }) => html`
  <${Crumbs}><a href="/">Pipeline</a> / batch <span class="mono">${of.id}</span><//>
  <${Heading} title=${html`Batch of ${plural(of.itemCount, 'file')} <${Chip} of=${of.completedAt ? 'delivered' : 'open'} tone=${of.completedAt ? 'completed' : 'warn'} />`} />
  <p class="message-line">${of.explanation}</p>
  <${Section} title="What is known"><${Facts} of=${[
    [
      'Tokens',
      `${count(of.totalTokens)} of ${count(of.maxTokens)} (${Math.round((100 * of.totalTokens) / of.maxTokens)} %)`,
    ],
    ['Committed by', html`<${Mono} of=${of.createdBy} />`],
    ['Committed', html`<${Time} at=${of.createdAt} />`],
    of.publishedAt && ['Published', html`<${Time} at=${of.publishedAt} />`],
    of.completedAt && ['Delivered', html`<${Time} at=${of.completedAt} />`],
    of.event && [
      'Event',
      `${of.event.status.toLowerCase()}, ${plural(of.event.attempts, 'attempt')}${of.event.lastError ? `: ${of.event.lastError}` : ''}`,
    ],
  ]} /><//>
  <${Letters} of=${of.letters} />
  <${Items} of=${of.items} title=${of.items.length < of.itemCount ? `First ${count(of.items.length)} files` : 'Files'} />
  <${Timeline} of=${of.timeline} />
  ${of.answer !== null && html`<${Section} title="What the destination answered"><${Tree} of=${of.answer} /><//>`}`;
