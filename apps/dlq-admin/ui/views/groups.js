import { get, may } from '../api.js';
import { count, duration, moment, plural } from '../format.js';
import { useData, useRows } from '../hooks.js';
import { bulkDialog } from '../parts/bulk-dialog.js';
import { groupDialog } from '../parts/group-dialog.js';
import { ErrorText, Facts, Heading, Meter, Mono } from '../parts/pieces.js';
import { Section, Sparkline, Table, Tabs, Text } from '../parts/pieces.js';
import { html } from '../preact.js';
import { Depth } from './depth.js';
import { LetterTable } from './letters.js';

/** @import { Group as Cause } from '#dlq-client' */

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
