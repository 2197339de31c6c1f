import { visible } from '../format.js';
import { html } from '../preact.js';

const MAX_LINES = 1_500;

/** The lines of two texts: kept, removed, added, by their longest common subsequence. */
function diffLines(before, after) {
  const a = before.split('\n').slice(0, MAX_LINES);
  const b = after.split('\n').slice(0, MAX_LINES);
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  /** @type {[string, string][]} */
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) (lines.push([' ', a[i]]), i++, j++);
    else if (i < a.length && (j === b.length || best[(i + 1) * width + j] >= best[i * width + j + 1]))
      lines.push(['-', a[i++]]);
    else lines.push(['+', b[j++]]);
  }
  return lines;
}

const NAMES = { '-': 'removed', '+': 'added', ' ': 'kept' };

export function Diff({ before, after }) {
  const lines = diffLines(before, after);
  if (lines.every(([mark]) => mark === ' ')) return html`<p class="muted">No change yet.</p>`;
  const near = (index) => lines.slice(Math.max(0, index - 3), index + 4).some(([mark]) => mark !== ' ');
  const line = ([mark, text]) =>
    html`<span class="line ${NAMES[mark]}">${mark} <bdi>${visible(text)}</bdi>${'\n'}</span>`;
  return html`<pre class="diff mono" tabindex="0" aria-label="Changes">${lines.filter((_, index) => near(index)).map(line)}</pre>`;
}
