import { get } from '../api.js';
import { count, duration, moment, plural } from '../format.js';
import { useData } from '../hooks.js';
import { Empty, ListTable, Section, Tabs, Text, Tile, Time } from '../parts/pieces.js';
import { Plot } from '../parts/plot.js';
import { html } from '../preact.js';

/** @import { Stats } from '#dlq-client' */

const RANGES = [
  [1, '1 hour'],
  [24, '1 day'],
  [168, '7 days'],
];
const REFRESH_MS = 10_000;

/** Open letters in figures, over time and by queue. */
export function Depth({ hours }) {
  return useData(() => get('/stats', { hours }), REFRESH_MS).show(
    (stats) => html`
    <${Tiles} of=${stats} />
    <${OverTime} of=${stats} hours=${hours} />
    ${stats.queues.length > 0 && html`<${Section} title="By queue"><${Queues} of=${stats.queues} /><//>`}`,
  );
}

/** @param {{ of: Stats }} props */
function Tiles({ of }) {
  const oldest = Math.min(...of.queues.flatMap(({ oldestAt }) => (oldestAt === null ? [] : [oldestAt])));
  const some = Number.isFinite(oldest);
  const queues = of.queues.filter(({ open }) => open > 0).length;
  return html`
    <div class="tiles">
      <${Tile} label="Open letters" value=${of.open} hint="in ${plural(queues, 'queue')}" tone=${of.open > 0 ? 'warn' : 'good'} />
      <${Tile} label="Oldest" value=${some ? duration(of.at - oldest) : '–'} hint=${some ? moment(oldest) : 'nothing open'} />
      <${Tile} label="Requeued" value=${of.requeued} hint="outcome not known yet" />
      <${Tile} label="Resolved" value=${of.resolved} hint="requeued, and succeeded" />
      <${Tile} label="Discarded" value=${of.discarded} hint="can be restored" />
      <${Tile} label="In Redis" value=${of.waiting ?? '?'} hint=${of.waiting === null ? 'Redis is away' : 'waiting to be taken in'} />
    </div>`;
}

/** @param {{ of: Stats, hours: number }} props */
function OverTime({ of: { depth, at, open }, hours }) {
  const tabs = RANGES.map(([n, text]) => [n, text, `/groups?hours=${n}`]);
  const points = [...depth, { at, depth: open }].map((point) => ({ at: point.at, values: [point.depth] }));
  const most = Math.max(...points.map(({ values }) => values[0]));
  const from = Math.min(points[0].at, at - 60_000);
  const label = `Open letters from ${moment(from)} to ${moment(at)}: now ${count(open)}, at most ${count(most)}`;
  return html`
    <${Section} title="Open letters over time" aside=${html`<${Tabs} label="Range" of=${tabs} current=${hours} />`}>
      ${depth.length > 0 ? html`<${Plot} points=${points} names=${['open']} from=${from} until=${at} label=${label} />` : html`<${Empty}>No samples yet; the first comes within a minute.<//>`}
    <//>`;
}

const Queues = ({ of }) => html`
  <${ListTable} titles=${['Queue', { number: 'Open' }, { number: 'Total' }, 'Oldest open']}>
    ${of.map(
      ({ queue, open, total, oldestAt }) => html`<tr>
      <td class="wide"><a href="/letters?status=open&queue=${encodeURIComponent(queue)}"><${Text} of=${queue} /></a></td>
      <td class="number" data-label="Open">${count(open)}</td>
      <td class="number muted" data-label="Total">${count(total)}</td>
      <td class="when" data-label="Oldest">${oldestAt === null ? '–' : html`<${Time} at=${oldestAt} />`}</td>
    </tr>`,
    )}
  <//>`;
