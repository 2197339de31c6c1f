import { html } from '../preact.js';
import { Chip, ErrorText, ListTable, ReasonChip, Text, Time } from './pieces.js';

/**
 * Letters, two lines each: what failed; where, in which state. `selected` is a set of ids, `select(ids)` replaces it; without
 * it nothing can be selected.
 */
export function LetterTable({ letters, at = -1, word = '', selected = null, select = null }) {
  const all = selected && letters.length > 0 && letters.every(({ id }) => selected.has(id));
  const ids = letters.map(({ id }) => id);
  const box =
    select &&
    html`<input type="checkbox" aria-label="Select all letters shown" checked=${all} onChange=${() => select(new Set(all ? [] : ids))} />`;
  const toggle = (id) =>
    select(new Set(selected.has(id) ? [...selected].filter((one) => one !== id) : [...selected, id]));
  return html`
    <${ListTable} class="letters" titles=${[...(select ? [box] : []), 'Letter', { number: 'When' }]}>
      ${letters.map(
        (
          letter,
          index,
        ) => html`<tr key=${letter.id} data-id=${letter.id} class=${index === at ? 'marked' : ''}>
          ${select && html`<td class="narrow"><input type="checkbox" aria-label="Select letter ${letter.id}" checked=${selected.has(letter.id)} onChange=${() => toggle(letter.id)} /></td>`}
          <${Letter} of=${letter} word=${word} />
        </tr>`,
      )}
    <//>`;
}

const Letter = ({ of, word }) => html`
  <td class="wide">
    <a href="/letters/${of.id}" class="row-link"><${ErrorText} name=${of.errorName} message=${of.errorMessage} max=${160} word=${word} /></a>
    <div class="small muted second">
      <${Chip} of=${of.status} /><${ReasonChip} of=${of.reason} />
      <${Text} of=${of.queue} /><${Text} of=${of.jobId} class="mono" /><${Text} of=${of.lastWorkerId} class="mono" />
      ${of.replayCount > 0 && html`<span>requeued ${of.replayCount} ×</span>`}
    </div>
  </td>
  <td class="when number"><${Time} at=${of.deadLetteredAt} /></td>`;
