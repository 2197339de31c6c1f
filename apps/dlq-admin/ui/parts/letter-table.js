import { html } from '../preact.js';
import { Chip, ErrorText, Mono, ReasonChip, Table, Text, Time } from './pieces.js';

/**
 * Letters, two lines each: what failed; where, in which state. `selected` is a set of ids, `select(ids)` replaces it; without
 * it nothing can be selected.
 */
export function LetterTable({ letters, word = '', selected = null, select = null, ...rest }) {
  const letter = ['Letter', (of) => html`<${Letter} of=${of} word=${word} />`, 'wide'];
  const columns = select ? [selection(letters, selected, select), letter, WHEN] : [letter, WHEN];
  return html`<${Table} class="letters" items=${letters} columns=${columns} ...${rest} />`;
}

function selection(letters, selected, select) {
  const all = letters.length > 0 && letters.every(({ id }) => selected.has(id));
  const allIds = letters.map(({ id }) => id);
  const without = (id) => [...selected].filter((one) => one !== id);
  const toggle = (id) => select(new Set(selected.has(id) ? without(id) : [...selected, id]));
  return [
    html`<input type="checkbox" aria-label="Select all letters shown" checked=${all} onChange=${() => select(new Set(all ? [] : allIds))} />`,
    ({ id }) =>
      html`<input type="checkbox" aria-label="Select letter ${id}" checked=${selected.has(id)} onChange=${() => toggle(id)} />`,
    'bare',
  ];
}

const WHEN = ['When', ({ deadLetteredAt }) => html`<${Time} at=${deadLetteredAt} />`, 'when number bare'];

const Letter = ({ of, word }) => html`
  <a href="/letters/${of.id}" class="row-link"><${ErrorText} name=${of.errorName} message=${of.errorMessage} max=${160} word=${word} /></a>
  <div class="small muted second">
    <${Chip} of=${of.status} /><${ReasonChip} of=${of.reason} />
    <${Text} of=${of.queue} /><${Mono} of=${of.jobId} /><${Mono} of=${of.lastWorkerId} />
    ${of.replayCount > 0 && html`<span>requeued ${of.replayCount} ×</span>`}
  </div>`;
