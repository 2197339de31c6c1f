import { get, may, post } from '../api.js';
import { count, duration } from '../format.js';
import { useData } from '../hooks.js';
import { confirmDialog } from '../parts/dialog.js';
import { Chip, Empty, Heading, ListTable, Section, Text, Tile, Time } from '../parts/pieces.js';
import { attempt, toast } from '../parts/toast.js';
import { html } from '../preact.js';

/** @import { DelayedJobView, QueueView } from '#dlq-client' */

const REFRESH_MS = 3_000;
const ASK = {
  pause: 'Workers take no more of its jobs until it is resumed. Jobs that run come to their end.',
  resume: 'Workers go on with its jobs at once.',
};

export function QueuesView() {
  const queues = useData(() => get('/queues'), REFRESH_MS);
  const change = async (queue, what) => {
    const answer = await confirmDialog(ASK[what], what === 'pause' ? 'Pause' : 'Resume', { note: true });
    if (answer)
      await attempt(() => post(`/queues/${encodeURIComponent(queue)}/${what}`, { note: answer.note }));
    if (answer) await queues.reload();
  };
  return html`
    <${Heading} title="Queues" />
    ${queues.show(({ items }) => items.map((of) => html`<${Queue} key=${of.queue} of=${of} change=${(what) => change(of.queue, what)} />`))}`;
}

/** @param {{ of: QueueView, change: (what: 'pause' | 'resume') => void }} props */
function Queue({ of, change }) {
  const what = of.paused ? 'resume' : 'pause';
  const button =
    may('operator') &&
    html`<button class=${of.paused ? 'primary' : ''} aria-label="${what} ${of.queue}" onClick=${() => change(what)}>${of.paused ? 'Resume' : 'Pause'}</button>`;
  return html`
    <${Section} title=${html`<${Text} of=${of.queue} /> ${of.paused && html`<${Chip} of="paused" tone="warn" />`}`} aside=${button}>
      <div class="tiles flat">
        <${Tile} label="Waiting" value=${of.waiting} hint=${of.waiting > 0 ? `oldest ${duration(of.oldestWaitingMs)}` : ''} />
        <${Tile} label="Active" value=${of.active} />
        <${Tile} label="Delayed" value=${of.delayed} tone=${of.delayed > 0 ? 'warn' : ''} />
        <${Tile} label="Failed" value=${of.failed} hint=${of.failed > 0 ? 'on their way to the dead letters' : ''} tone=${of.failed > 0 ? 'bad' : ''} />
      </div>
      ${of.delayed > 0 && html`<${Delayed} queue=${of.queue} />`}
    <//>`;
}

/** Jobs that are put off, those that are due next first. */
function Delayed({ queue }) {
  const path = `/queues/${encodeURIComponent(queue)}`;
  const jobs = useData(() => get(`${path}/delayed`), REFRESH_MS);
  const now = (job) =>
    attempt(async () => {
      await post(`${path}/promote`, { job });
      toast('The job is due now.');
      await jobs.reload();
    });
  return jobs.show(({ items }) =>
    items.length === 0
      ? html`<${Empty}>None is put off any more.<//>`
      : html`<${ListTable} titles=${['Job', 'Next attempt', { number: 'Attempts' }, { hidden: 'Actions' }]}>
          ${items.map((job) => html`<${Job} key=${job.id} of=${job} now=${() => now(job.id)} />`)}
        <//>`,
  );
}

/** @param {{ of: DelayedJobView, now: () => void }} props */
const Job = ({ of, now }) => html`
  <tr>
    <td class="wide"><${Text} of=${of.id} class="mono" /> <${Text} of=${of.name} class="muted" />
      ${of.lastError && html`<div class="small"><${Text} of=${of.lastError} /></div>`}</td>
    <td class="when" data-label="Next attempt">in ${duration(Math.max(0, of.nextAttemptAt - Date.now()))}, enqueued <${Time} at=${of.enqueuedAt} /></td>
    <td class="number" data-label="Attempts">${count(of.attemptsMade)}</td>
    <td>${may('operator') && html`<button aria-label="Make ${of.id} due now" onClick=${now}>Now</button>`}</td>
  </tr>`;
