import { get } from '../api.js';
import { count, duration, moment, plural } from '../format.js';
import { useData } from '../hooks.js';
import { Empty, Section, Table, Tabs, Text, Tile } from '../parts/pieces.js';
import { Plot } from '../parts/plot.js';
import { html } from '../preact.js';

/** @import { Stats } from '#dlq-client' */

const SPANS = { 1: '1 hour', 24: '1 day', 168: '7 days' };
const RANGES = Object.entries(SPANS).map(([hours, text]) => [Number(hours), text, `/groups?hours=${hours}`]);
const REFRESH_MS = 10_000;

/** Open letters in figures, over time and by queue. */
export const Depth = ({ hours }) =>
  useData(() => get('/stats', { hours }), REFRESH_MS).show(
    (stats) => html`
    <${Tiles} of=${stats} />
    <${OverTime} of=${stats} hours=${hours} />
    ${stats.queues.length > 0 && html`<${Section} title="By queue"><${Table} items=${stats.queues} columns=${COLUMNS} /><//>`}`,
  );

/** @param {{ of: Stats }} props */
function Tiles({ of }) {
  const oldest = Math.min(...of.queues.flatMap(({ oldestAt }) => oldestAt ?? []));
  const some = Number.isFinite(oldest);
  const queues = of.queues.filter(({ open }) => open > 0).length;
  return html`
    <div class="tiles">
      <${Tile} label="Open letters" value=${of.open} hints="in ${plural(queues, 'queue')}" tone=${of.open > 0 ? 'warn' : 'good'} />
      <${Tile} label="Oldest" value=${some ? duration(of.at - oldest) : '–'} hints=${some ? moment(oldest) : 'nothing open'} />
      <${Tile} label="Requeued" value=${of.requeued} hints="outcome not known yet" />
      <${Tile} label="Resolved" value=${of.resolved} hints="requeued, and succeeded" />
      <${Tile} label="Discarded" value=${of.discarded} hints="can be restored" />
      <${Tile} label="In Redis" value=${of.waiting ?? '?'} hints=${of.waiting === null ? 'Redis is away' : 'waiting to be taken in'} />
    </div>`;
}

/** @param {{ of: Stats, hours: number }} props */
function OverTime({ of: { depth, at, open }, hours }) {
  const points = [...depth, { at, depth: open }].map((point) => ({ at: point.at, values: [point.depth] }));
  const most = Math.max(...points.map(({ values }) => values[0]));
  const from = Math.min(points[0].at, at - 60_000);
  const label = `Open letters from ${moment(from)} to ${moment(at)}: now ${count(open)}, at most ${count(most)}`;
  return html`
    <${Section} title="Open letters over time" aside=${html`<${Tabs} label="Range" of=${RANGES} current=${hours} />`}>
      ${depth.length > 0 ? html`<${Plot} points=${points} names=${['open']} from=${from} until=${at} label=${label} />` : html`<${Empty}>No samples yet; the first comes within a minute.<//>`}
    <//>`;
}

const queueLink = ({ queue }) =>
  html`<a href="/letters?status=open&queue=${encodeURIComponent(queue)}"><${Text} of=${queue} /></a>`;

const COLUMNS = [
  ['Queue', queueLink, 'wide'],
  ['Open', 'open', 'number'],
  ['Total', 'total', 'number muted'],
  ['Oldest open', 'oldestAt', 'when'],
];
