import { count, moment, plural, visible } from '../format.js';
import { html } from '../preact.js';
import { Chip, Empty, ErrorText, ListTable, Section, Text, Time } from './pieces.js';

/** @import { BatchItemView, ConcernedLetter, TimelineEntry } from '#dlq-client' */

/** Parts of files in their batches. @param {{ of: BatchItemView[], title: string, withBatch?: boolean }} props */
export const Items = ({ of, title, withBatch = false }) => html`
  <${Section} title=${title}>
    ${of.length === 0 && html`<${Empty}>In no batch.<//>`}
    ${
      of.length > 0 &&
      html`<${ListTable} titles=${[withBatch ? 'Batch' : 'File', 'Part', { number: 'Tokens' }, 'Outcome']}>
      ${of.map(
        (item) => html`<tr>
        <td class="wide">${withBatch ? html`<a class="mono" href="/batches/${item.batchId}">${item.batchId}</a>` : html`<a href="/files/${item.fileId}"><${Text} of=${item.path} class="mono" /></a>`}</td>
        <td data-label="Part">${item.parts > 1 ? `${item.part} of ${item.parts}, ` : ''}revision ${item.revision}</td>
        <td class="number" data-label="Tokens">${count(item.tokens)}</td>
        <td data-label="Outcome"><${Chip} of=${item.outcome ?? 'not delivered'} tone=${item.outcome === 'delivered' ? 'completed' : 'warn'} /> ${item.endedAt && html`<${Time} at=${item.endedAt} />`}</td>
      </tr>`,
      )}
    <//>`
    }
  <//>`;

/** Each step with what it took since the one before. @param {{ of: TimelineEntry[] }} props */
export const Timeline = ({ of }) => html`
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
export const Letters = ({ of }) =>
  of.length > 0 &&
  html`<${Section} title=${plural(of.length, 'letter')}>
    <${ListTable} titles=${['Letter', 'Attempts', { number: 'When' }]}>
      ${of.map(
        (letter) => html`<tr>
        <td class="wide"><a class="row-link" href="/letters/${letter.id}"><${ErrorText} name=${letter.errorName} message=${letter.errorMessage} max=${200} /></a>
          <div class="small muted second"><${Chip} of=${letter.status} /><${Text} of=${letter.queue} /></div></td>
        <td data-label="Attempts">${letter.attempts.map(({ attempt, error }) => html`<div class="small" title=${visible(error)}>${attempt}</div>`)}</td>
        <td class="when number"><${Time} at=${letter.deadLetteredAt} /></td>
      </tr>`,
      )}
    <//>
  <//>`;
