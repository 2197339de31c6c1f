import { post } from '../api.js';
import { count, plural } from '../format.js';
import { Problem } from '../hooks.js';
import { html, useEffect, useState } from '../preact.js';
import { go } from '../router.js';
import { noteHint, openDialog } from './dialog.js';
import { Chip, Meter, Text } from './pieces.js';
import { attempt } from './toast.js';

const VERBS = { requeue: 'Requeue', discard: 'Discard', restore: 'Restore' };

/** Asks for a bulk action: shows a dry run first, then starts exactly that, and goes to its page. `selection` is { ids } or { filter }. */
export async function bulkDialog(kind, selection, what) {
  const action = await openDialog(
    `${VERBS[kind]} ${what}`,
    (close) => html`<${BulkForm} kind=${kind} selection=${selection} close=${close} />`,
  );
  if (action) await go(`/bulk/${action.id}`);
}

function BulkForm({ kind, selection, close }) {
  const [{ shown, error }, set] = useState(/** @type {any} */ ({}));
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    post('/bulk-actions', { kind, ...selection, dryRun: true }).then(
      (answer) => set({ shown: answer }),
      (refusal) => set({ error: refusal }),
    );
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    const action = await attempt(() =>
      post('/bulk-actions', requestOf(kind, selection, shown.confirm, event.target.elements)),
    );
    if (action) close(action);
    else setBusy(false);
  };
  return html`
    <form onSubmit=${submit}>
      ${error ? html`<${Problem} error=${error} head="Not possible." />` : html`<${Preview} of=${shown} />`}
      ${kind === 'requeue' && html`<p><label class="inline"><input id="canary" name="canary" type="checkbox" defaultChecked /> Canary: 1, 2, 5, 20 … letters first; stop when one fails again</label></p>`}
      <div class="fields">
        <div><label for="rate">Letters a second</label><input id="rate" name="rate" type="number" min="1" max="100000" placeholder="no limit" /></div>
        <div class="grow"><label for="bulk-note">Note</label><input id="bulk-note" name="note" autofocus maxlength="500" placeholder=${noteHint} /></div>
      </div>
      <footer>
        <button type="button" onClick=${() => close(null)}>Cancel</button>
        <button class=${kind === 'discard' ? 'danger' : 'primary'} disabled=${busy || !shown?.eligible}>
          ${shown ? `${VERBS[kind]} ${plural(shown.eligible, 'letter')}` : 'Start'}</button>
      </footer>
    </form>`;
}

const requestOf = (kind, selection, confirm, { rate, canary, note }) => ({
  kind,
  ...selection,
  ...(selection.filter && { confirm }),
  ...(rate.value && { ratePerSecond: Number(rate.value) }),
  ...(canary?.checked && { canary: {} }),
  ...(note.value && { note: note.value }),
});

function Preview({ of }) {
  if (!of) return html`<p class="loading">Counting…</p>`;
  const { total, eligible, skipped, reasons } = of;
  const largest = Math.max(1, ...reasons.map((reason) => reason.count));
  return html`
    <p class="big"><strong>${count(eligible)}</strong> of ${plural(total, 'letter')} ${skipped.map(({ reason, count: n }) => html`<${Chip} of="${count(n)} ${reason}" tone="warn" />`)}</p>
    <table class="plain bars"><tbody>
      ${reasons.slice(0, 8).map(
        (reason) => html`<tr>
          <td><strong><${Text} of=${reason.errorName} /></strong> <${Text} of=${reason.message.slice(0, 90)} class="muted" /></td>
          <td class="meter-cell"><${Meter} value=${reason.count} largest=${largest} /></td>
          <td class="number">${count(reason.count)}</td></tr>`,
      )}
    </tbody></table>
    ${reasons.length > 8 && html`<p class="muted">and ${plural(reasons.length - 8, 'more cause')}</p>`}`;
}
