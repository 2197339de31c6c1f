import { get } from '../api.js';
import { bytes, count } from '../format.js';
import { useData } from '../hooks.js';
import { Chip, Crumbs, Facts, Heading, Mono, Section, Text } from '../parts/pieces.js';
import { Items, Letters, Timeline } from '../parts/story.js';
import { html } from '../preact.js';

/** @import { FileView as File } from '#dlq-client' */

const REFRESH_MS = 5_000;
const TONES = { analyzed: 'completed', failed: 'stopped', skipped: 'warn' };

export function FileView({ match: [id] }) {
  return useData(() => get(`/files/${id}`), REFRESH_MS).show((of) => html`<${Story} of=${of} />`);
}

/** A file by its path: shows the page of the one that has it. */
export function FileAtView({ params }) {
  return useData(() => get('/files', { path: params.get('path') ?? '' })).show(
    (of) => html`<${Story} of=${of} />`,
  );
}

/** @param {{ of: File }} props */
const Story = ({ of }) => html`
  <${Crumbs}><a href="/">Pipeline</a> / file ${of.id}<//>
  <${Heading} title=${html`<${Text} of=${of.path.split('/').at(-1)} /> <${Chip} of=${of.status} tone=${TONES[of.status] ?? 'running'} />`} />
  <p class="message-line"><${Text} of=${of.explanation} /></p>
  <${Section} title="What is known"><${Facts} of=${[
    ['Path', html`<${Mono} of=${of.path} />`],
    ['Root', html`<${Mono} of=${of.root} />`],
    ['Size', bytes(of.size)],
    ['Revision', count(of.revision)],
    of.tokens !== null && ['Tokens', count(of.tokens)],
    of.skipReason && ['Skipped', of.skipReason],
    of.error && ['Error', of.error],
    of.duplicateOf && [
      'Same content as',
      html`<a href="/files/${of.duplicateOf}">file ${of.duplicateOf}</a>`,
    ],
    of.worker && ['Held by', html`<${Mono} of=${of.worker} />`],
    ['Taken up', `${count(of.claims)} ×`],
    of.removed && ['Removed', 'not there in the last complete scan'],
    of.hash && ['Hash', html`<${Mono} of=${of.hash} />`],
  ]} /><//>
  <${Letters} of=${of.letters} />
  <${Items} of=${of.items} title="Batches" withBatch=${true} />
  <${Timeline} of=${of.timeline} />`;
