import { post } from '../api.js';
import { count, plural, title } from '../format.js';
import { useData } from '../hooks.js';
import { html, useState } from '../preact.js';
import { go } from '../router.js';
import { attempt, openDialog } from './dialog.js';
import { Field, Form, Note } from './form.js';
import { Chip, Meter, Text } from './pieces.js';

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
