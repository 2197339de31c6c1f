import { get, may, post } from '../api.js';
import { ago, bytes, count, duration, moment, plural, visible } from '../format.js';
import { useData } from '../hooks.js';
import { attempt } from '../parts/dialog.js';
import { Chip, Heading, Mono, Section, Table, Text, Tile } from '../parts/pieces.js';
import { Plot } from '../parts/plot.js';
import { html } from '../preact.js';
import { GroupTable } from './groups.js';

/** @import { PipelineView, QueueView, ScanView } from '#dlq-client' */

const LIVE_MS = 1_000;
const REFRESH_MS = 10_000;

/** The way of every file with what is on it now; dead letters are a part of it. */
export function HomeView() {
  const pipeline = useData(() => get('/pipeline'), LIVE_MS);
  const read = () => Promise.all([get('/stats', { hours: 1 }), get('/groups', { limit: 8 })]);
  const causes = useData(read, REFRESH_MS);
  const firing = causes.value?.[0].alerts.filter(({ state }) => state === 'firing') ?? [];
  return html`
    ${pipeline.show(
      (of) => html`
      <${Heading} title="Pipeline"><${Destination} of=${of} /><//>
      ${firing.map((alert) => html`<${Alert} key=${alert.rule} of=${alert} reload=${causes.reload} />`)}
      <${Way} of=${of} />
      <${States} of=${of} />
      <${Throughput} of=${of} />`,
    )}
    <${Section} title="Causes of dead letters" aside=${html`<a href="/groups">All</a>`}>
      ${causes.show(([, { items }]) => html`<${GroupTable} groups=${items} empty="No dead letter is open." />`)}
    <//>
    ${pipeline.value && html`<${Workers} of=${pipeline.value.workers} />`}`;
}

const Destination = ({ of: { id, destination, at } }) => html`
  <span class="muted">${destination ? html`to <${Mono} of=${destination.address} /> as ${destination.format} · ` : ''}${id && `pipeline ${id.slice(0, 8)} · `}as of ${moment(at)}</span>`;

function Alert({ of: { rule, words, since, acknowledgedBy, acknowledgedAt }, reload }) {
  const acknowledge = () => attempt(() => post('/alerts/acknowledge', { rule })).then(reload);
  return html`
    <div class="notice ${acknowledgedBy ? 'warn' : 'bad'}" role="alert">
      <strong>Alert </strong><${Text} of=${words} /> <span>(since ${ago(since)})</span>
      ${acknowledgedBy && html`<span> · <${Text} of=${acknowledgedBy} /> looks after it, since ${ago(acknowledgedAt)}</span>`}
      ${!acknowledgedBy && may('operator') && html` <button class="small" aria-label="Acknowledge ${visible(words)}" onClick=${acknowledge}>Acknowledge</button>`}
    </div>`;
}

/** @param {{ of: PipelineView }} props */
function Way({ of }) {
  // A key that is limited to some queues is told of those only.
  const [discovery, analysis] = of.queues?.length === 3 ? of.queues : [];
  const { batches, events, letters, files } = of;
  return html`
    <ol class="way">
      <${Scan} of=${of.scans[0]} more=${of.scans.length - 1} />
      <${Queue} title="To be batched" of=${discovery} away=${!of.queues} />
      <${Tile} as="li" label="Batches" value=${batches.total} hints=${[
        `${count(batches.open)} not delivered`,
        batches.meanFill !== null && `${Math.round(batches.meanFill * 100)} % full`,
      ]} />
      <${Tile} as="li" label="Events" value=${events.pending} href="/events" tone=${events.dead > 0 ? 'warn' : ''} hints=${[
        events.pending > 0 ? `oldest ${duration(events.oldestPendingMs)}` : 'none pending',
        events.dead > 0 && `${count(events.dead)} given up`,
      ]} />
      <${Queue} title="To be analysed" of=${analysis} away=${!of.queues} />
      <${Tile} as="li" label="Delivered" value=${files.analyzed} tone="good" hints=${['files', bytes(of.bytes.analyzed)]} />
      <${Tile} as="li" label="Dead letters" value=${letters.open} href="/letters?status=open" tone=${letters.open > 0 ? 'bad' : ''} hints=${[
        'open',
        `${count(letters.requeued)} requeued, ${count(letters.resolved)} resolved`,
      ]} />
    </ol>`;
}

/** @param {{ of: ScanView | undefined, more: number }} props */
function Scan({ of, more }) {
  if (!of) return html`<${Tile} as="li" label="Scan" value="–" hints="none yet" />`;
  const running = of.outcome === 'running';
  const since = running
    ? `running for ${duration(Date.now() - of.startedAt)}`
    : `${of.outcome} ${ago(of.finishedAt ?? of.startedAt)}`;
  return html`<${Tile} as="li" label="Scan" value=${of.files} tone=${of.errors > 0 ? 'warn' : ''} hints=${[
    running && of.expectedFiles ? `of about ${count(of.expectedFiles)} files` : 'files found',
    since,
    of.errors > 0 && plural(of.errors, 'error'),
    html`<${Mono} of=${of.root} />`,
    more > 0 && `and ${plural(more, 'more root')}`,
  ]} />`;
}

/** @param {{ title: string, of: QueueView | undefined, away: boolean }} props */
function Queue({ title, of, away }) {
  if (!of)
    return html`<${Tile} as="li" label=${title} value="?" hints=${away ? 'Redis is away' : 'not for this key'} />`;
  return html`<${Tile} as="li" label=${title} value=${of.waiting + of.active} href="/queues" tone=${of.paused ? 'warn' : ''} hints=${[
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
  const texts = STATES.map((state) => `${count(files[state])} ${state}`);
  return html`
    <${Section} title=${plural(total, 'file')} aside=${html`<strong>${finish(remainingMs)}</strong>`}>
      <div class="states" role="img" aria-label=${texts.join(', ')}>
        ${STATES.map((state) => html`<span class=${state} style=${width(state)}></span>`)}
      </div>
      <${Legend} names=${STATES} texts=${texts} />
    <//>`;
}

const Legend = ({ names, texts }) =>
  html`<span class="row legend">${names.map((name, index) => html`<span class=${name}>${texts[index]}</span>`)}</span>`;

function finish(ms) {
  if (ms === null) return 'The time to finish cannot be told yet';
  return ms === 0 ? 'Nothing is left to do' : `About ${duration(ms)} to go`;
}

const NAMES = ['delivered', 'skipped', 'failed'];

/** @param {{ of: PipelineView }} props */
function Throughput({ of: { throughput, at } }) {
  const points = throughput.map((point) => ({ at: point.at, values: NAMES.map((name) => point[name]) }));
  const sum = (name) => throughput.reduce((total, point) => total + point[name], 0);
  const sums = NAMES.map((name) => `${count(sum(name))} ${name}`);
  const label = `Files a minute in the last hour: ${sums.join(', ')}`;
  return html`
    <${Section} title="Files a minute" aside=${html`<${Legend} names=${NAMES} texts=${sums} />`}>
      <${Plot} points=${points} names=${NAMES} from=${at - 3_600_000} until=${at} label=${label} />
    <//>`;
}

/** @param {{ of: PipelineView["workers"] }} props */
const Workers = ({ of }) => html`
  <${Section} title="Workers">
    <${Table} items=${of ?? []} empty=${of ? 'No process shows itself.' : 'Redis is away.'} columns=${[
      ['Process', processOf, 'wide'],
      ['Takes from', ({ jobs }) => jobs.map(job)],
      ['State', stateOf, 'bare'],
      ['Last sign of life', 'lastSeenAt', 'when number'],
    ]} />
  <//>`;

const processOf = ({ app, id }) =>
  html`<strong>${visible(app)}</strong> <${Text} of=${id} class="mono small muted" />`;
const stateOf = ({ state }) => html`<${Chip} of=${state} tone=${state === 'alive' ? 'completed' : 'warn'} />`;
const job = ({ queue, active }) =>
  html`<div><${Text} of=${queue} /> <span class="muted">${count(active)} active</span></div>`;
