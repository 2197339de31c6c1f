import { bytes, count, plural } from '../format.js';
import { html, useState } from '../preact.js';
import { ListTable, Section, Text } from './pieces.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FIRST = 20;

/** The files that a letter's job is about, by the two shapes that our own queues carry; nothing for the jobs of others. */
export function LetterFiles({ payload }) {
  const files = Array.isArray(payload?.files) ? payload.files : payload?.fileId ? [payload] : [];
  const [most, showMore] = useState(FIRST);
  if (files.length === 0 || !files.every((file) => Number.isSafeInteger(file?.fileId))) return null;
  const batch =
    UUID.test(payload.id) &&
    html`<a href="/batches/${payload.id}">Batch of ${count(payload.totalTokens ?? 0)} tokens</a>`;
  return html`
    <${Section} title=${plural(files.length, 'file')} aside=${batch}>
      <${ListTable} titles=${['File', 'Part', { number: 'Tokens' }, { number: 'Size' }]}>
        ${files.slice(0, most).map((file) => html`<${File} of=${file} />`)}
      <//>
      ${files.length > most && html`<p><button class="link" onClick=${() => showMore(files.length)}>${plural(files.length - most, 'more file')}</button></p>`}
    <//>`;
}

const File = ({ of }) => html`
  <tr>
    <td class="wide"><a href="/files/${of.fileId}"><${Text} of=${String(of.path ?? of.filePath ?? of.fileId)} class="mono" /></a></td>
    <td data-label="Part">${of.parts > 1 ? `${of.part} of ${of.parts}` : ''}</td>
    <td class="number" data-label="Tokens">${Number.isFinite(of.tokens) ? count(of.tokens) : '–'}</td>
    <td class="number" data-label="Size">${Number.isFinite(of.fileSize ?? of.end - of.start) ? bytes(of.fileSize ?? of.end - of.start) : '–'}</td>
  </tr>`;
