import { get, may, post } from '../api.js';
import { count, plural, visible } from '../format.js';
import { useData, useRows } from '../hooks.js';
import { confirmDialog } from '../parts/dialog.js';
import {
  Chip,
  Crumbs,
  Empty,
  Facts,
  Heading,
  ListTable,
  Section,
  Text,
  Tile,
  Time,
} from '../parts/pieces.js';
import { announce, attempt } from '../parts/toast.js';
import { html, useEffect } from '../preact.js';
import { go } from '../router.js';

/** @import { BulkAction as Bulk } from '#dlq-client' */

const POLL_MS = 700;

export function BulkListView() {
  const page = useData(() => get('/bulk-actions', { limit: 50 }));
  return html`
    <${Heading} title="Bulk actions" />
    ${page.show(({ items }) =>
      items.length > 0
        ? html`<section class="card"><${Actions} items=${items} /></section>`
        : html`<${Empty}>None yet. Requeue or discard a group, or all letters that fit a filter.<//>`,
    )}`;
}

function Actions({ items }) {
  const at = useRows(items);
  return html`<${ListTable} titles=${['Action', 'Status', 'Progress', 'By', 'Begun']}>
    ${items.map(
      (action, index) => html`<tr class=${index === at ? 'marked' : ''}>
      <td><a href="/bulk/${action.id}" class="row-link">${action.kind} ${plural(action.total, 'letter')}</a></td>
      <td><${Chip} of=${action.status} /></td>
      <td class="meter-cell"><${Progress} of=${action} /></td>
      <td data-label="By"><${Text} of=${action.createdBy} /></td>
      <td class="when" data-label="Begun"><${Time} at=${action.createdAt} /></td>
    </tr>`,
    )}
  <//>`;
}

const Progress = ({ of: { total, done, skipped, kind } }) =>
  html`<progress max=${Math.max(1, total)} value=${done + skipped} aria-label="${kind}: ${done + skipped} of ${total}"></progress>`;

export function BulkView({ match: [id] }) {
  const data = useData(() => get(`/bulk-actions/${id}`), POLL_MS);
  const status = data.value?.status;
  useEffect(() => void (status && announce(`Bulk action is ${status}`)), [status]);
  const change = async (what, question) => {
    const label = what[0].toUpperCase() + what.slice(1);
    if (!(await confirmDialog(question, label, { danger: true }))) return;
    await attempt(() => post(`/bulk-actions/${id}/${what}`));
    await data.reload();
  };
  return data.show((action) => html`<${Action} of=${action} change=${change} />`);
}

const ABORT = 'What is done stays done; what waits stays as it is.';
const APPROVE = 'Another key asked for this. Approved, it begins at once.';

const goOn = (id) =>
  attempt(async () => {
    const next = await post(`/bulk-actions/${id}/continue`);
    await go(`/bulk/${next.id}`);
  });

/** @param {{ of: Bulk, change: (what: string, question: string) => void }} props */
function Action({ of, change }) {
  const pending = of.status === 'pending';
  const running = of.status === 'frozen' || of.status === 'running';
  const left = (of.status === 'stopped' || of.status === 'aborted') && of.waiting > 0;
  return html`
    <${Crumbs}><a href="/bulk">Bulk actions</a> / <span class="mono">${of.id}</span><//>
    <${Heading} title=${html`${of.kind[0].toUpperCase()}${of.kind.slice(1)} ${plural(of.total, 'letter')} <${Chip} of=${of.status} />`}>
      ${
        may('operator') &&
        html`
        ${pending && html`<button onClick=${() => change('approve', APPROVE)}>Approve</button>`}
        ${(running || pending) && html`<button class="danger" onClick=${() => change('abort', ABORT)}>Abort</button>`}
        ${left && html`<button class="primary" onClick=${() => goOn(of.id)}>Go on with the rest</button>`}`
      }
    <//>
    ${pending && html`<div class="notice">Waits for a second person, until <${Time} at=${of.approveBefore} />.</div>`}
    ${of.reason && html`<div class="notice ${of.status === 'stopped' ? 'bad' : ''}">${visible(of.reason)}</div>`}
    <${Figures} of=${of} running=${running} />
    <${How} of=${of} running=${running} />`;
}

/** Every letter of the action is in exactly one of the tiles. @param {{ of: Bulk, running: boolean }} props */
function Figures({ of, running }) {
  const letters = (text, status) =>
    html`<a href="/letters?${new URLSearchParams({ action: of.id, status })}">${text}</a>`;
  return html`
    <section class="card">
      <div class="big-progress"><${Progress} of=${of} /><strong>${count(of.done + of.skipped)} / ${count(of.total)}</strong></div>
      <div class="tiles flat">
        <${Tile} label=${of.kind === 'requeue' ? 'Requeued' : 'Done'} value=${of.done - of.failedAgain} hint=${of.failedAgain ? 'and not failed again' : ''} tone="good" />
        ${of.kind === 'requeue' && html`<${Tile} label="Failed again" value=${of.failedAgain} hint=${of.failedAgain ? 'open again' : ''} tone=${of.failedAgain ? 'bad' : ''} />`}
        <${Tile} label="Passed over" value=${of.skipped} tone=${of.skipped ? 'warn' : ''} />
        <${Tile} label=${running ? 'Waiting' : 'Left as they were'} value=${of.waiting} />
      </div>
      ${of.skippedReasons.length > 0 && html`<p>Passed over: ${of.skippedReasons.map(({ reason, count: n }) => html`<${Chip} of="${count(n)} ${visible(reason)}" tone="warn" />`)}</p>`}
      <p>${letters('All its letters', 'any')}, ${letters('those that are open', 'open')}, ${letters('those that are resolved', 'resolved')}</p>
    </section>`;
}

/** @param {{ of: Bulk, running: boolean }} props */
const How = ({ of, running }) => html`
  <${Section} title="How"><${Facts} of=${[
    ['By', of.createdBy],
    ['Begun', html`<${Time} at=${of.createdAt} />`],
    of.approvedBy && ['Approved by', of.approvedBy],
    of.finishedAt && ['Ended', html`<${Time} at=${of.finishedAt} />`],
    ['Rate', of.ratePerSecond ? `${count(of.ratePerSecond)} a second` : 'no limit'],
    ['Canary', of.canary ? html`<${Canary} of=${of.canary} running=${running} />` : 'no'],
    ['Letters', html`<${Selection} of=${of.selection} />`],
  ]} /><//>`;

function Canary({ of: { steps, step, waiting }, running }) {
  const tone = (index) => (index < step ? 'completed' : index === step ? 'running' : '');
  return html`${steps.map((size, index) => html`<${Chip} of=${count(size)} tone="step ${tone(index)}" />`)}${waiting && running ? ' waiting for the outcome' : ''}`;
}

/** Which letters were chosen, in words. @param {{ of: { ids?: number, restOf?: string, filter?: object } }} props */
function Selection({ of: { ids, restOf, filter = {} } }) {
  if (restOf) return html`the rest of <a href="/bulk/${restOf}">another action</a>`;
  if (ids) return `${plural(ids, 'letter')}, chosen one by one`;
  const words = Object.entries(filter).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : value,
  ]);
  return html`${words.map(([name, value]) => html`<span class="chip"><${Text} of="${name} ${value}" /></span>`)}`;
}
