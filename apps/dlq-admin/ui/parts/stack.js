import { plural, visible } from '../format.js';
import { html, useState } from '../preact.js';

const FOREIGN = /node_modules|\bnode:|<anonymous>/;
const MAX_LINES = 400;

function kindOf(text) {
  if (!/^\s*at /.test(text)) return 'head';
  return FOREIGN.test(text) ? 'foreign' : 'own';
}

/** A stack trace with our own frames in front; the others are one click away, in their places. */
export function Stack({ of }) {
  const [all, showAll] = useState(false);
  const lines = of
    .split('\n')
    .slice(0, MAX_LINES)
    .map((text) => ({ text, kind: kindOf(text) }));
  const foreign = lines.filter(({ kind }) => kind === 'foreign').length;
  const seen = lines.filter(({ kind }) => all || kind !== 'foreign');
  return html`
    ${foreign > 0 && html`<label class="inline"><input type="checkbox" checked=${all} onChange=${() => showAll(!all)} /> show ${plural(foreign, 'frame')} of libraries and Node</label>`}
    <pre class="stack mono" tabindex="0" aria-label="Stack trace">${seen.map(
      ({ text, kind }) => html`<span class="line ${kind}"><bdi>${visible(text)}</bdi>${'\n'}</span>`,
    )}</pre>`;
}
