// One file and one batch: where it stands, and how it came there.
import { get } from '../api.js';
import { bytes, count, moment, plural, visible } from '../format.js';
import { useData } from '../hooks.js';
import { Tree } from '../parts/payload.js';
import { Chip, ErrorText, Facts, Heading, Mono, Section, Table, Text, Time } from '../parts/pieces.js';
import { html } from '../preact.js';

/** @import { BatchItemView, BatchView as Batch, ConcernedLetter, FileView as File, TimelineEntry } from '#dlq-client' */

const REFRESH_MS = 5_000;
const TONES = { analyzed: 'completed', failed: 'stopped', skipped: 'warn' };

export const FileView = ({ match: [id] }) =>
  useData(() => get(`/files/${id}`), REFRESH_MS).show((of) => html`<${FileStory} of=${of} />`);

/** A file by its path: shows the page of the one that has it. */
export const FileAtView = ({ params }) =>
  useData(() => get('/files', { path: params.get('path') })).show((of) => html`<${FileStory} of=${of} />`);

export const BatchView = ({ match: [id] }) =>
  useData(() => get(`/batches/${id}`), REFRESH_MS).show((of) => html`<${BatchStory} of=${of} />`);

/** @param {{ of: File }} props */
const FileStory = ({ of }) => html`
  <p class="crumbs"><a href="/">Pipeline</a> / file ${of.id}</p>
  <${Heading} title=${html`<${Text} of=${of.path.split('/').at(-1)} /> <${Chip} of=${of.status} tone=${TONES[of.status] ?? 'running'} />`} />
  <p class="message-line"><${Text} of=${of.explanation} /></p>
  <${Section} title="What is known"><${Facts} of=${[
    ['Path', of.path, 'mono'],
    ['Root', of.root, 'mono'],
    ['Size', bytes(of.size)],
    ['Revision', of.revision, 'number'],
    ['Tokens', of.tokens, 'number'],
    ['Skipped', of.skipReason],
    ['Error', of.error],
    [
      'Same content as',
      of.duplicateOf && html`<a href="/files/${of.duplicateOf}">file ${of.duplicateOf}</a>`,
    ],
    ['Held by', of.worker, 'mono'],
    ['Taken up', `${count(of.claims)} ×`],
    ['Removed', of.removed && 'not there in the last complete scan'],
    ['Hash', of.hash, 'mono'],
  ]} /><//>
  <${Letters} of=${of.letters} />
  <${Section} title="Batches"><${Items} of=${of.items} title="Batch" link=${batchOf} /><//>
  <${Timeline} of=${of.timeline} />`;

/** @param {{ of: Batch }} props */
const BatchStory = ({ of }) => html`
  <p class="crumbs"><a href="/">Pipeline</a> / batch <span class="mono">${of.id}</span></p>
  <${Heading} title=${html`Batch of ${plural(of.itemCount, 'file')} <${Chip} of=${of.completedAt ? 'delivered' : 'open'} tone=${of.completedAt ? 'completed' : 'warn'} />`} />
  <p class="message-line">${of.explanation}</p>
  <${Section} title="What is known"><${Facts} of=${[
    ['Tokens', fill(of)],
    ['Committed by', of.createdBy, 'mono'],
    ['Committed', of.createdAt, 'when'],
    ['Published', of.publishedAt, 'when'],
    ['Delivered', of.completedAt, 'when'],
    ['Event', of.event && eventText(of.event)],
  ]} /><//>
  <${Letters} of=${of.letters} />
  <${Section} title=${of.items.length < of.itemCount ? `First ${count(of.items.length)} files` : 'Files'}><${Items} of=${of.items} title="File" link=${fileOf} /><//>
  <${Timeline} of=${of.timeline} />
  ${of.answer !== null && html`<${Section} title="What the destination answered"><${Tree} of=${of.answer} /><//>`}`;

const fill = ({ totalTokens, maxTokens }) =>
  `${count(totalTokens)} of ${count(maxTokens)} (${Math.round((100 * totalTokens) / maxTokens)} %)`;

const eventText = ({ status, attempts, lastError }) =>
  `${status.toLowerCase()}, ${plural(attempts, 'attempt')}${lastError ? `: ${lastError}` : ''}`;

const batchOf = ({ batchId }) => html`<a class="mono" href="/batches/${batchId}">${batchId}</a>`;
const fileOf = ({ fileId, path }) => html`<a href="/files/${fileId}"><${Mono} of=${path} /></a>`;

/** Parts of files in their batches. @param {{ of: BatchItemView[], title: string, link: (item: BatchItemView) => any }} props */
const Items = ({ of, title, link }) => html`
  <${Table} items=${of} empty="In no batch." columns=${[
    [title, link, 'wide'],
    ['Part', partOf],
    ['Tokens', 'tokens', 'number'],
    ['Outcome', outcomeOf],
  ]} />`;

const partOf = ({ part, parts, revision }) =>
  `${parts > 1 ? `${part} of ${parts}, ` : ''}revision ${revision}`;

const outcomeOf = ({ outcome, endedAt }) => html`
  <${Chip} of=${outcome ?? 'not delivered'} tone=${outcome === 'delivered' ? 'completed' : 'warn'} /> ${endedAt && html`<${Time} at=${endedAt} />`}`;

/** Each step with what it took since the one before. @param {{ of: TimelineEntry[] }} props */
const Timeline = ({ of }) => html`
  <${Section} title="Timeline"><ol class="timeline">${of.map(
    ({ at, event }, index) => html`<li class=${toneOf(event)}><strong><${Text} of=${event} /></strong>
      <span class="muted"> · ${moment(at)}${index > 0 ? ` · ${took(at - of[index - 1].at)}` : ''}</span></li>`,
  )}</ol><//>`;

const took = (ms) => (ms < 1000 ? `${count(ms)} ms later` : `${count(Math.round(ms / 100) / 10)} s later`);

function toneOf(event) {
  if (/deliver|analy[sz]ed|resolved/.test(event)) return 'good';
  return /dead|failed|letter/.test(event) ? 'bad' : 'info';
}

/** @param {{ of: ConcernedLetter[] }} props */
const Letters = ({ of }) =>
  of.length > 0 &&
  html`<${Section} title=${plural(of.length, 'letter')}><${Table} items=${of} columns=${[
    ['Letter', letterOf, 'wide'],
    ['Attempts', ({ attempts }) => attempts.map(attemptOf)],
    ['When', 'deadLetteredAt', 'when number bare'],
  ]} /><//>`;

const attemptOf = ({ attempt, error }) => html`<div class="small" title=${visible(error)}>${attempt}</div>`;

const letterOf = ({ id, errorName, errorMessage, status, queue }) => html`
  <a class="row-link" href="/letters/${id}"><${ErrorText} name=${errorName} message=${errorMessage} /></a>
  <div class="small muted second"><${Chip} of=${status} /><${Text} of=${queue} /></div>`;
