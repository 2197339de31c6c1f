import { get, may, post } from '../api.js';
import { count, plural, title, visible } from '../format.js';
import { useData, useRows } from '../hooks.js';
import { announce, attempt, confirmAndPost, Field, Form, Note, openDialog } from '../parts/dialog.js';
import { Chip, Facts, Heading, Meter, Section, Table, Text, Tile, Time } from '../parts/pieces.js';
import { html, useEffect, useState } from '../preact.js';
import { go } from '../router.js';

/** @import { BulkAction as Bulk } from '#dlq-client' */

const POLL_MS = 700;

export function BulkListView() {
  const page = useData(() => get('/bulk-actions', { limit: 50 }));
  return html`
    <${Heading} title="Bulk actions" />
    ${page.show(({ items }) => html`<${Section}><${Actions} items=${items} /><//>`)}`;
}

const Actions = ({ items }) => html`
  <${Table} items=${items} at=${useRows(items)} empty="None yet. Requeue or discard a group, or all letters that fit a filter." columns=${[
    ['Action', linkOf, 'bare'],
    ['Status', ({ status }) => html`<${Chip} of=${status} />`, 'bare'],
    ['Progress', (action) => html`<${Progress} of=${action} />`, 'meter-cell bare'],
    ['By', 'createdBy'],
    ['Begun', 'createdAt', 'when'],
  ]} />`;

const linkOf = ({ id, kind, total }) =>
  html`<a href="/bulk/${id}" class="row-link">${kind} ${plural(total, 'letter')}</a>`;

const Progress = ({ of: { total, done, skipped, kind } }) =>
  html`<progress max=${Math.max(1, total)} value=${done + skipped} aria-label="${kind}: ${done + skipped} of ${total}"></progress>`;

export function BulkView({ match: [id] }) {
  const data = useData(() => get(`/bulk-actions/${id}`), POLL_MS);
  const status = data.value?.status;
  useEffect(() => void (status && announce(`Bulk action is ${status}`)), [status]);
  const change = async (what, question) => {
    await confirmAndPost(`/bulk-actions/${id}/${what}`, question, title(what), { danger: true, note: false });
    await data.reload();
  };
  return data.show((action) => html`<${Action} of=${action} change=${change} />`);
}

const ABORT = 'What is done stays done; what waits stays as it is.';
const APPROVE = 'Another key asked for this. Approved, it begins at once.';

const goOn = (id) => attempt(async () => go(`/bulk/${(await post(`/bulk-actions/${id}/continue`)).id}`));

/** @param {{ of: Bulk, change: (what: string, question: string) => void }} props */
function Action({ of, change }) {
  const pending = of.status === 'pending';
  const running = of.status === 'frozen' || of.status === 'running';
  const left = (of.status === 'stopped' || of.status === 'aborted') && of.waiting > 0;
  return html`
    <p class="crumbs"><a href="/bulk">Bulk actions</a> / <span class="mono">${of.id}</span></p>
    <${Heading} title=${html`${title(of.kind)} ${plural(of.total, 'letter')} <${Chip} of=${of.status} />`}>${
      may('operator') &&
      html`${pending && html`<button onClick=${() => change('approve', APPROVE)}>Approve</button>`}
        ${(running || pending) && html`<button class="danger" onClick=${() => change('abort', ABORT)}>Abort</button>`}
        ${left && html`<button class="primary" onClick=${() => goOn(of.id)}>Go on with the rest</button>`}`
    }<//>
    ${pending && html`<div class="notice">Waits for a second person, until <${Time} at=${of.approveBefore} />.</div>`}
    ${of.reason && html`<div class="notice ${of.status === 'stopped' ? 'bad' : ''}">${visible(of.reason)}</div>`}
    <${Figures} of=${of} running=${running} />
    <${How} of=${of} running=${running} />`;
}

/** Every letter of the action is in exactly one of the tiles. @param {{ of: Bulk, running: boolean }} props */
function Figures({ of, running }) {
  const letters = (text, status) =>
    html`<a href="/letters?${new URLSearchParams({ action: of.id, status })}">${text}</a>`;
  const again = of.failedAgain > 0;
  return html`
    <${Section}>
      <div class="big-progress"><${Progress} of=${of} /><strong>${count(of.done + of.skipped)} / ${count(of.total)}</strong></div>
      <div class="tiles">
        <${Tile} label=${of.kind === 'requeue' ? 'Requeued' : 'Done'} value=${of.done - of.failedAgain} hints=${again && 'and not failed again'} tone="good" />
        ${of.kind === 'requeue' && html`<${Tile} label="Failed again" value=${of.failedAgain} hints=${again && 'open again'} tone=${again ? 'bad' : ''} />`}
        <${Tile} label="Passed over" value=${of.skipped} tone=${of.skipped ? 'warn' : ''} />
        <${Tile} label=${running ? 'Waiting' : 'Left as they were'} value=${of.waiting} />
      </div>
      ${of.skippedReasons.length > 0 && html`<p>Passed over: ${of.skippedReasons.map(({ reason, count: n }) => html`<${Chip} of="${count(n)} ${visible(reason)}" tone="warn" />`)}</p>`}
      <p>${letters('All its letters', 'any')}, ${letters('those that are open', 'open')}, ${letters('those that are resolved', 'resolved')}</p>
    <//>`;
}

/** @param {{ of: Bulk, running: boolean }} props */
const How = ({ of, running }) => html`
  <${Section} title="How"><${Facts} of=${[
    ['By', of.createdBy],
    ['Begun', of.createdAt, 'when'],
    ['Approved by', of.approvedBy],
    ['Ended', of.finishedAt, 'when'],
    ['Rate', of.ratePerSecond ? `${count(of.ratePerSecond)} a second` : 'no limit'],
    ['Canary', of.canary ? html`<${Canary} of=${of.canary} running=${running} />` : 'no'],
    ['Letters', html`<${Selection} of=${of.selection} />`],
  ]} /><//>`;

function Canary({ of: { steps, step, waiting }, running }) {
  const tone = (index) => (index < step ? 'completed' : index === step ? 'running' : '');
  return html`${steps.map((size, index) => html`<${Chip} of=${count(size)} tone=${tone(index)} />`)}${waiting && running ? ' waiting for the outcome' : ''}`;
}

/** Which letters were chosen, in words. @param {{ of: { ids?: number, restOf?: string, filter?: object } }} props */
function Selection({ of: { ids, restOf, filter = {} } }) {
  if (restOf) return html`the rest of <a href="/bulk/${restOf}">another action</a>`;
  if (ids) return `${plural(ids, 'letter')}, chosen one by one`;
  const word = ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`;
  return Object.entries(filter).map((one) => html`<span class="chip"><${Text} of=${word(one)} /></span>`);
}

/** Asks for a bulk action: shows a dry run first, then starts exactly that, and goes to its page. `selection` is { ids } or { filter }. */
export async function bulkDialog(kind, selection, what) {
  const form = (close) => html`<${BulkForm} kind=${kind} selection=${selection} close=${close} />`;
  const action = await openDialog(`${title(kind)} ${what}`, form);
  if (action) await go(`/bulk/${action.id}`);
}

function BulkForm({ kind, selection, close }) {
  const preview = useData(() => post('/bulk-actions', { kind, ...selection, dryRun: true }));
  const [busy, setBusy] = useState(false);
  const shown = preview.value;
  const start = async (values) => {
    setBusy(true);
    const request = { kind, ...selection, ...optionsOf(selection, shown, values) };
    const action = await attempt(() => post('/bulk-actions', request));
    if (action) close(action);
    else setBusy(false);
  };
  return html`
    <${Form} submit=${start} cancel=${() => close(null)} tone=${kind === 'discard' ? 'danger' : 'primary'} disabled=${busy || !shown?.eligible}
      action=${shown ? `${title(kind)} ${plural(shown.eligible, 'letter')}` : 'Start'}>
      ${preview.show((of) => html`<${Preview} of=${of} />`)}
      ${kind === 'requeue' && html`<p><label class="inline"><input id="canary" name="canary" type="checkbox" defaultChecked /> Canary: 1, 2, 5, 20 … letters first; stop when one fails again</label></p>`}
      <div class="fields">
        <${Field} name="rate" label="Letters a second" type="number" min="1" max="100000" placeholder="no limit" />
        <${Note} class="grow" autofocus />
      </div>
    <//>`;
}

const optionsOf = ({ filter }, { confirm }, { rate, canary, note }) => ({
  ...(filter && { confirm }),
  ...(rate && { ratePerSecond: Number(rate) }),
  ...(canary && { canary: {} }),
  ...(note && { note }),
});

function Preview({ of: { total, eligible, skipped, reasons } }) {
  const largest = Math.max(1, ...reasons.map((reason) => reason.count));
  return html`
    <p class="big"><strong>${count(eligible)}</strong> of ${plural(total, 'letter')} ${skipped.map(({ reason, count: n }) => html`<${Chip} of="${count(n)} ${reason}" tone="warn" />`)}</p>
    <table class="plain"><tbody>
      ${reasons.slice(0, 8).map(
        (reason) => html`<tr>
          <td><strong><${Text} of=${reason.errorName} /></strong> <${Text} of=${reason.message.slice(0, 90)} class="muted" /></td>
          <td class="meter-cell"><${Meter} value=${reason.count} largest=${largest} /></td>
          <td class="number">${count(reason.count)}</td></tr>`,
      )}
    </tbody></table>
    ${reasons.length > 8 && html`<p class="muted">and ${plural(reasons.length - 8, 'more cause')}</p>`}`;
}
