import { get, may, post } from '../api.js';
import { duration, title } from '../format.js';
import { useData } from '../hooks.js';
import { attempt, confirmAndPost, toast } from '../parts/dialog.js';
import { Chip, Heading, Mono, Section, Table, Text, Tile, Time } from '../parts/pieces.js';
import { html } from '../preact.js';

/** @import { QueueView } from '#dlq-client' */

const REFRESH_MS = 3_000;
const ASK = {
  pause: 'Workers take no more of its jobs until it is resumed. Jobs that run come to their end.',
  resume: 'Workers go on with its jobs at once.',
};

export function QueuesView() {
  const queues = useData(() => get('/queues'), REFRESH_MS);
  const draw = (of) => html`<${Queue} key=${of.queue} of=${of} reload=${queues.reload} />`;
  return html`<${Heading} title="Queues" />${queues.show(({ items }) => items.map(draw))}`;
}

/** @param {{ of: QueueView, reload: () => Promise<unknown> }} props */
function Queue({ of, reload }) {
  const path = `/queues/${encodeURIComponent(of.queue)}`;
  const what = of.paused ? 'resume' : 'pause';
  const change = async () => (await confirmAndPost(`${path}/${what}`, ASK[what], title(what))) && reload();
  const button =
    may('operator') &&
    html`<button class=${of.paused ? 'primary' : ''} aria-label="${what} ${of.queue}" onClick=${change}>${title(what)}</button>`;
  return html`
    <${Section} title=${html`<${Text} of=${of.queue} /> ${of.paused && html`<${Chip} of="paused" tone="warn" />`}`} aside=${button}>
      <div class="tiles">
        <${Tile} label="Waiting" value=${of.waiting} hints=${of.waiting > 0 && `oldest ${duration(of.oldestWaitingMs)}`} />
        <${Tile} label="Active" value=${of.active} />
        <${Tile} label="Delayed" value=${of.delayed} tone=${of.delayed > 0 ? 'warn' : ''} />
        <${Tile} label="Failed" value=${of.failed} hints=${of.failed > 0 && 'on their way to the dead letters'} tone=${of.failed > 0 ? 'bad' : ''} />
      </div>
      ${of.delayed > 0 && html`<${Delayed} path=${path} />`}
    <//>`;
}

/** Jobs that are put off, those that are due next first. */
function Delayed({ path }) {
  const jobs = useData(() => get(`${path}/delayed`), REFRESH_MS);
  const promote = (job) =>
    attempt(async () => {
      await post(`${path}/promote`, { job });
      toast('The job is due now.');
      await jobs.reload();
    });
  const action = ({ id }) =>
    may('operator') &&
    html`<button aria-label="Make ${id} due now" onClick=${() => promote(id)}>Now</button>`;
  const columns = [
    ['Job', jobOf, 'wide'],
    ['Next attempt', dueOf, 'when'],
    ['Attempts', 'attemptsMade', 'number'],
    ['Actions', action, 'unseen'],
  ];
  const empty = 'None is put off any more.';
  return jobs.show(({ items }) => html`<${Table} items=${items} columns=${columns} empty=${empty} />`);
}

const jobOf = ({ id, name, lastError }) => html`<${Mono} of=${id} /> <${Text} of=${name} class="muted" />
  ${lastError && html`<div class="small"><${Text} of=${lastError} /></div>`}`;

const dueOf = ({ nextAttemptAt, enqueuedAt }) =>
  html`in ${duration(Math.max(0, nextAttemptAt - Date.now()))}, enqueued <${Time} at=${enqueuedAt} />`;
