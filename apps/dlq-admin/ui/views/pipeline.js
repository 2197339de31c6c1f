import { get } from '../api.js';
import { ago, bytes, count, duration, moment, plural, visible } from '../format.js';
import { useData, useStream } from '../hooks.js';
import { Alerts } from '../parts/alerts.js';
import { GroupTable } from '../parts/group-table.js';
import { Chip, Empty, Heading, ListTable, Mono, Section, Text, Time } from '../parts/pieces.js';
import { Plot } from '../parts/plot.js';
import { html } from '../preact.js';

/** @import { PipelineView, QueueView, ScanView, WorkerView } from '#dlq-client' */

const REFRESH_MS = 10_000;

/** The way of every file with what is on it now; dead letters are a part of it. */
export function HomeView() {
  const pipeline = useStream('/pipeline');
  const causes = useData(
    () => Promise.all([get('/stats', { hours: 1 }), get('/groups', { limit: 8 })]),
    REFRESH_MS,
  );
  return html`
    ${pipeline.show(
      (of) => html`
      <${Heading} title="Pipeline"><${Destination} of=${of} /><//>
      ${causes.value && html`<${Alerts} of=${causes.value[0].alerts} reload=${causes.reload} />`}
      <${Way} of=${of} />
      <${States} of=${of} />
      <${Throughput} of=${of} />`,
    )}
    <${Section} title="Causes of dead letters" aside=${html`<a href="/groups">All</a>`}>
      ${causes.show(([, { items }]) => (items.length > 0 ? html`<${GroupTable} groups=${items} />` : html`<${Empty}>No dead letter is open.<//>`))}
    <//>
    ${pipeline.value && html`<${Workers} of=${pipeline.value.workers} />`}`;
}

const Destination = ({ of: { id, destination, at } }) => html`
  <span class="muted">${destination ? html`to <${Mono} of=${destination.address} /> as ${destination.format} · ` : ''}${id && `pipeline ${id.slice(0, 8)} · `}as of ${moment(at)}</span>`;

/** @param {{ of: PipelineView }} props */
function Way({ of }) {
  // A key that is limited to some queues is told of those only.
  const [discovery, analysis] = of.queues?.length === 3 ? of.queues : [];
  const { batches, events, letters, files } = of;
  return html`
    <ol class="way">
      <${Scan} of=${of.scans[0]} more=${of.scans.length - 1} />
      <${Queue} title="To be batched" of=${discovery} away=${!of.queues} />
      <${Box} title="Batches" figure=${batches.total} lines=${[
        `${count(batches.open)} not delivered`,
        batches.meanFill !== null && `${Math.round(batches.meanFill * 100)} % full`,
      ]} />
      <${Box} title="Events" figure=${events.pending} href="/events" tone=${events.dead > 0 ? 'warn' : ''} lines=${[
        events.pending > 0 ? `oldest ${duration(events.oldestPendingMs)}` : 'none pending',
        events.dead > 0 && `${count(events.dead)} given up`,
      ]} />
      <${Queue} title="To be analysed" of=${analysis} away=${!of.queues} />
      <${Box} title="Delivered" figure=${files.analyzed} tone="good" lines=${['files', bytes(of.bytes.analyzed)]} />
      <${Box} title="Dead letters" figure=${letters.open} href="/letters?status=open" tone=${letters.open > 0 ? 'bad' : ''} lines=${[
        'open',
        `${count(letters.requeued)} requeued, ${count(letters.resolved)} resolved`,
      ]} />
    </ol>`;
}

const Box = ({ title, figure, lines, href = '', tone = '' }) => html`
  <li class="box ${tone}">
    <span class="label">${href ? html`<a href=${href}>${title}</a>` : title}</span>
    <span class="figure">${typeof figure === 'number' ? count(figure) : figure}</span>
    ${lines.filter(Boolean).map((line) => html`<span class="hint">${line}</span>`)}
  </li>`;

/** @param {{ of: ScanView | undefined, more: number }} props */
function Scan({ of, more }) {
  if (!of) return html`<${Box} title="Scan" figure="–" lines=${['none yet']} />`;
  const running = of.outcome === 'running';
  const share = of.expectedFiles ? `of about ${count(of.expectedFiles)} files` : 'files found';
  const since = running
    ? `running for ${duration(Date.now() - of.startedAt)}`
    : `${of.outcome} ${ago(of.finishedAt ?? of.startedAt)}`;
  return html`<${Box} title="Scan" figure=${of.files} tone=${of.errors > 0 ? 'warn' : ''} lines=${[
    running ? share : 'files found',
    since,
    of.errors > 0 && plural(of.errors, 'error'),
    html`<${Text} of=${of.root} class="mono" />`,
    more > 0 && `and ${plural(more, 'more root')}`,
  ]} />`;
}

/** @param {{ title: string, of: QueueView | undefined, away: boolean }} props */
function Queue({ title, of, away }) {
  if (!of)
    return html`<${Box} title=${title} figure="?" lines=${[away ? 'Redis is away' : 'not for this key']} />`;
  return html`<${Box} title=${title} figure=${of.waiting + of.active} href="/queues" tone=${of.paused ? 'warn' : ''} lines=${[
    of.paused && html`<${Chip} of="paused" tone="warn" />`,
    `${count(of.waiting)} waiting, ${count(of.active)} active`,
    of.delayed > 0 && `${count(of.delayed)} delayed`,
    of.waiting > 0 && `oldest ${duration(of.oldestWaitingMs)}`,
  ]} />`;
}

const STATES = ['analyzed', 'batched', 'processing', 'pending', 'skipped', 'failed'];

/** @param {{ of: PipelineView }} props */
function States({ of: { files, remainingMs } }) {
  const total = STATES.reduce((sum, state) => sum + files[state], 0);
  const width = (state) => ({ width: `${total > 0 ? (100 * files[state]) / total : 0}%` });
  return html`
    <section class="card">
      <div class="heading"><h2>${plural(total, 'file')}</h2><strong>${finish(remainingMs)}</strong></div>
      <div class="states" role="img" aria-label=${STATES.map((state) => `${count(files[state])} ${state}`).join(', ')}>
        ${STATES.map((state) => html`<span class=${state} style=${width(state)}></span>`)}
      </div>
      <div class="legend">${STATES.map((state) => html`<span class=${state}>${count(files[state])} ${state}</span>`)}</div>
    </section>`;
}

function finish(ms) {
  if (ms === null) return 'The time to finish cannot be told yet';
  return ms === 0 ? 'Nothing is left to do' : `About ${duration(ms)} to go`;
}

const NAMES = ['delivered', 'skipped', 'failed'];

/** @param {{ of: PipelineView }} props */
function Throughput({ of: { throughput, at } }) {
  const points = throughput.map((point) => ({ at: point.at, values: NAMES.map((name) => point[name]) }));
  const sums = NAMES.map(
    (name) => `${count(throughput.reduce((sum, point) => sum + point[name], 0))} ${name}`,
  );
  const label = `Files a minute in the last hour: ${sums.join(', ')}`;
  return html`
    <${Section} title="Files a minute" aside=${html`<span class="legend">${NAMES.map((name, index) => html`<span class=${name}>${sums[index]}</span>`)}</span>`}>
      <${Plot} points=${points} names=${NAMES} from=${at - 3_600_000} until=${at} label=${label} />
    <//>`;
}

/** @param {{ of: WorkerView[] | null }} props */
const Workers = ({ of }) => html`
  <${Section} title="Workers">
    ${of === null && html`<${Empty}>Redis is away.<//>`}
    ${of?.length === 0 && html`<${Empty}>No process shows itself.<//>`}
    ${
      of?.length > 0 &&
      html`<${ListTable} titles=${['Process', 'Takes from', 'State', { number: 'Last sign of life' }]}>
      ${of.map(
        ({ id, app, jobs, lastSeenAt, state }) => html`<tr>
        <td class="wide"><strong>${visible(app)}</strong> <${Text} of=${id} class="mono small muted" /></td>
        <td data-label="Takes from">${jobs.map(({ queue, active }) => html`<div><${Text} of=${queue} /> <span class="muted">${count(active)} active</span></div>`)}</td>
        <td><${Chip} of=${state} tone=${state === 'alive' ? 'completed' : 'warn'} /></td>
        <td class="when number" data-label="Seen"><${Time} at=${lastSeenAt} /></td>
      </tr>`,
      )}
    <//>`
    }
  <//>`;
