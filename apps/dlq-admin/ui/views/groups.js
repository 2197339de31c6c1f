import { get, may, patch, post } from '../api.js';
import { count, duration, moment, plural, shorten, visible } from '../format.js';
import { useData, useRows } from '../hooks.js';
import { attempt, Field, Form, openDialog } from '../parts/dialog.js';
import { Empty, ErrorText, Facts, Heading, Meter, Mono, Section, Sparkline, Table } from '../parts/pieces.js';
import { Tabs, Text, Tile } from '../parts/pieces.js';
import { Plot } from '../parts/plot.js';
import { html } from '../preact.js';
import { go } from '../router.js';
import { bulkDialog } from './bulk.js';
import { LetterTable } from './letters.js';

/** @import { Group as Cause, Stats } from '#dlq-client' */

const CHOICES = [
  ['open', 'with open letters', '/groups?status=open'],
  ['any', 'all', '/groups?status=any'],
];

export function GroupsView({ params }) {
  const status = params.get('status') === 'any' ? 'any' : 'open';
  const page = useData(() => get('/groups', { limit: 50, status, cursor: params.get('cursor') }));
  return html`
    <${Heading} title="Groups"><${Tabs} label="Which groups" of=${CHOICES} current=${status} /><//>
    <p class="muted">Letters that failed for the same cause: the same error, message and place, whatever ids, paths and numbers they carry.</p>
    ${page.show(
      ({ items, next }) => html`
      <${Section}><${GroupTable} groups=${items} empty="No groups." /><//>
      ${next && html`<p><a class="button" href="/groups?status=${status}&cursor=${encodeURIComponent(next)}">Next page</a></p>`}`,
    )}
    <${Depth} hours=${Number(params.get('hours')) || 24} />`;
}

/** @param {{ groups: Cause[], empty: string }} props */
export function GroupTable({ groups, empty }) {
  const largest = Math.max(1, ...groups.map(({ open }) => open));
  const share = ({ open, recent }) =>
    html`<${Meter} value=${open} largest=${largest} /><${Sparkline} of=${recent} />`;
  return html`<${Table} items=${groups} at=${useRows(groups)} empty=${empty} columns=${[
    ['Cause', cause, 'wide'],
    [html`<span class="visually-hidden">Share</span>`, share, 'meter-cell bare'],
    ['Open', 'open', 'number'],
    ['Total', 'total', 'number muted'],
    ['Queues', ({ queues }) => queues.map(({ queue }) => html`<div><${Text} of=${queue} /></div>`), 'small'],
    ['First seen', 'firstSeenAt', 'when'],
    ['Last seen', 'lastSeenAt', 'when'],
  ]} />`;
}

const cause = (of) => html`
  <a href="/groups/${of.id}" class="row-link"><${ErrorText} name=${of.errorName} message=${of.newest ?? of.message} max=${140} /></a>
  <div class="small muted second">${/[#<]/.test(of.message) && html`<${Text} of=${of.message} />`}<${Mono} of=${of.frame} /><${Tended} of=${of} /></div>`;

/** Who looks after a group, and whether it raises alerts. */
const Tended = ({ of: { owner, mutedUntil } }) => html`
  ${owner && html`<span class="chip"><${Text} of=${owner} /></span>`}
  ${mutedUntil > Date.now() && html`<span class="chip" title=${moment(mutedUntil)}>muted for ${duration(mutedUntil - Date.now())}</span>`}`;

export function GroupView({ match: [id] }) {
  const letters = { group: id, limit: 50 };
  const data = useData(() => Promise.all([get(`/groups/${id}`), get('/dead-letters', letters)]));
  return data.show(([of, found]) => html`<${Group} of=${of} letters=${found} reload=${data.reload} />`);
}

function Group({ of, letters, reload }) {
  const act = (kind) => bulkDialog(kind, { filter: { group: of.id, status: 'open' } }, 'this group');
  const tend = async () => (await groupDialog(of)) && reload();
  const idle = of.open === 0;
  const allowed = may('operator') && !idle;
  const on = (kind) => () => allowed && act(kind);
  const at = useRows(letters.items, { r: on('requeue'), d: on('discard') });
  return html`
    <p class="crumbs"><a href="/groups">Groups</a> / <span class="mono">${of.id}</span></p>
    <${Heading} title=${html`<${Text} of=${of.errorName} />`}>${
      may('operator') &&
      html`<button class="primary" disabled=${idle} onClick=${() => act('requeue')}>Requeue ${plural(of.open, 'letter')}…</button>
      <button class="danger" disabled=${idle} onClick=${() => act('discard')}>Discard…</button>
      <button onClick=${tend}>Note, owner, split, merge…</button>`
    }<//>
    <p class="message-line"><${Text} of=${of.newest ?? of.message} /></p>
    <p class="muted mono small"><${Text} of=${of.message} /></p>
    <${Left} of=${of} />
    <${Known} of=${of} />
    <${Section} title="Letters"><${LetterTable} letters=${letters.items} at=${at} empty="None." />
      ${letters.next && html`<p><a href="/letters?status=any&group=${of.id}">All letters of this group</a></p>`}
    <//>`;
}

/** What people have left on the group. */
const Left = ({ of }) => html`
  ${of.mergedInto && html`<div class="notice">Its letters went to <a href="/groups/${of.mergedInto}">another group</a>: it was merged into that.</div>`}
  ${of.splitBy && html`<div class="notice">Its letters went to <a href="/groups">groups of their own</a>: it was split by <${Mono} of=${of.splitBy} />.</div>`}
  ${(of.owner || of.mutedUntil > Date.now()) && html`<p><${Tended} of=${of} /></p>`}
  ${of.note && html`<div class="notice"><strong>Note: </strong><${Text} of=${of.note} /></div>`}`;

const chips = (items, name) =>
  html`${items.map((item) => html`<span class="chip"><${Text} of=${item[name]} /> ${count(item.total)}</span>`)}`;

const Known = ({ of }) => html`
  <${Section} title="What is known"><${Facts} of=${[
    ['Open', of.open, 'number'],
    ['In all', of.total, 'number'],
    ['First seen', of.firstSeenAt, 'when'],
    ['Last seen', of.lastSeenAt, 'when'],
    ['Where', of.frame, 'mono'],
    ['Queues', chips(of.queues, 'queue')],
    ['Workers', chips(of.workers, 'worker')],
  ]} /><//>`;

const SPANS = { 1: '1 hour', 24: '1 day', 168: '7 days' };
const RANGES = Object.entries(SPANS).map(([hours, text]) => [Number(hours), text, `/groups?hours=${hours}`]);
const REFRESH_MS = 10_000;

/** Open letters in figures, over time and by queue. */
const Depth = ({ hours }) =>
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

const HOUR_MS = 3_600_000;
const MUTES = { 0: 'not muted', 1: '1 hour', 8: '8 hours', 24: '1 day', 168: '7 days' };
const FIELDS = ['queue', 'name', 'reason', 'worker', 'message'];

/** What people may do with a cause besides its letters; true when something was done. @param {Cause} group */
function groupDialog(group) {
  const body = (close) =>
    html`<${Tend} of=${group} close=${close} /><${Regroup} of=${group} close=${close} />`;
  return openDialog('This group', body);
}

function Tend({ of, close }) {
  const save = async ({ note = null, owner = null, mute }) => {
    const hours = Number(mute);
    const mutedUntil = mute === 'as it is' ? undefined : hours ? Date.now() + hours * HOUR_MS : null;
    if (await attempt(() => patch(`/groups/${of.id}`, { note, owner, mutedUntil }))) close(true);
  };
  return html`
    <${Form} submit=${save} cancel=${() => close(null)} action="Save">
      <${Field} as="textarea" name="note" label="Note" rows="3" maxlength="2000" autofocus value=${of.note ?? ''} />
      <div class="fields">
        <${Field} name="owner" label="Owner" class="grow" maxlength="100" value=${of.owner ?? ''} placeholder="who looks after it" />
        <${Field} name="mute" label="Raises no alert for" options=${['as it is', ...Object.entries(MUTES)]} />
      </div>
    <//>`;
}

const label = ({ errorName, newest, message }) => shorten(visible(`${errorName}: ${newest ?? message}`), 90);

/** Makes one cause of two, or several of one. */
function Regroup({ of, close }) {
  const found = useData(() => get('/groups', { status: 'any', limit: 200 })).value?.items ?? [];
  const others = found.filter(({ id }) => id !== of.id).map((group) => [group.id, label(group)]);
  const send = (what) => async (body) => {
    const done = await attempt(() => post(`/groups/${of.id}/${what}`, body));
    if (!done) return;
    close(true);
    await go(what === 'merge' ? `/groups/${done.id}` : '/groups');
  };
  return html`
    <${Form} class="fields" submit=${send('split')} action="Split" tone="">
      <${Field} name="field" label="Split into a group for each" class="grow" required known=${FIELDS} pattern="${FIELDS.join('|')}|payload\\..+" placeholder="queue, worker, payload.user.id" />
    <//>
    <${Form} class="fields" submit=${send('merge')} action="Merge into it" tone="">
      <${Field} name="into" label="Is the same as" class="grow" required options=${[['', 'choose a group'], ...others]} />
    <//>`;
}
