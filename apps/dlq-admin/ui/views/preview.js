import { get } from '../api.js';
import { useData } from '../hooks.js';
import { Marked, Section, Text } from '../parts/pieces.js';
import { Stack } from '../parts/stack.js';
import { Tree } from '../parts/tree.js';
import { html } from '../preact.js';

/** What a marked letter holds, beside the list. */
export function Preview({ id, word }) {
  const letter = useData(() => get(`/dead-letters/${id}`));
  return html`
    <aside class="preview-pane" aria-label="Preview of letter ${id}"><${Section} title="Letter ${id}">
      ${letter.show(
        (of) => html`
          <p class="message-line"><bdi><${Marked} of=${of.errorMessage.slice(0, 600)} word=${word} /></bdi></p>
          ${of.note && html`<div class="notice"><${Text} of=${of.note} /></div>`}
          ${of.hidden ? html`<p class="muted">Only operators see payload and stack.</p>` : html`<${Tree} of=${of.payload} masked=${of.redactedPaths} /><${Stack} of=${of.stack} />`}`,
      )}
    <//></aside>`;
}
