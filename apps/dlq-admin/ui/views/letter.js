import { download, get, may, patch } from '../api.js';
import { bytes, count, moment, plural, title, visible } from '../format.js';
import { Problem, useData, useInterval, useKeys } from '../hooks.js';
import { attempt, confirmAndPost, confirmDialog, Form, Note, toast } from '../parts/dialog.js';
import { Diff, LongText, Stack, Tree } from '../parts/payload.js';
import { Chip, Facts, Heading, Mono, ReasonChip, Section, Table, Text, Time } from '../parts/pieces.js';
import { html, useEffect, useRef, useState } from '../preact.js';
import { go, guardLeaving } from '../router.js';

const OUTCOME_MS = 3_000;
const DONE = { requeue: 'requeued', discard: 'discarded', restore: 'restored' };

/** Requeues, discards or restores one letter, after asking; true when it was done. */
export async function changeLetter(what, id) {
  const [path, question] = [`/dead-letters/${id}/${what}`, `${title(what)} letter ${id}?`];
  const done = await confirmAndPost(path, question, title(what), { danger: what === 'discard' });
  if (done) toast(`Letter ${id}: ${DONE[what]}.`);
  return Boolean(done);
}

export function LetterView({ match: [id] }) {
  const letter = useData(() => get(`/dead-letters/${id}`));
  return letter.show((of) => html`<${Letter} of=${of} reload=${letter.reload} />`);
}

function Letter({ of, reload }) {
  const [editing, edit] = useState(false);
  const change = async (what) => (await changeLetter(what, of.id)) && reload();
  const open = of.status === 'open' && may('operator');
  const on = (what) => () => open && change(what);
  useKeys({ r: on('requeue'), d: on('discard'), e: () => open && edit(true), u: () => go('/letters') });
  // Its outcome comes by itself.
  useInterval(reload, of.status === 'requeued' ? OUTCOME_MS : 0);
  const saved = () => (edit(false), reload());
  return html`
    <p class="crumbs"><a href="/letters">Letters</a> / <a href="/groups/${of.group}" class="mono">group ${of.group.slice(0, 8)}</a> / ${of.id}</p>
    <${Heading} title=${html`<${Text} of=${of.errorName} /> <${Chip} of=${of.status} /> <${ReasonChip} of=${of.reason} />`}>
      ${
        open &&
        html`<button class="primary" onClick=${() => change('requeue')}>Requeue</button>
        <button onClick=${() => edit(true)}>Edit payload</button>
        <button class="danger" onClick=${() => change('discard')}>Discard</button>`
      }
      ${of.status === 'discarded' && may('operator') && html`<button class="primary" onClick=${() => change('restore')}>Restore</button>`}
    <//>
    <p class="message-line"><${LongText} of=${of.errorMessage} /></p>
    <${Warnings} of=${of} />
    <${Job} of=${of} />
    ${!of.hidden && html`<${Files} payload=${of.payload} />`}
    <${Payload} of=${of}>${editing && html`<${Editor} letter=${of} done=${saved} cancel=${() => edit(false)} />`}<//>
    <${Section} title="Stack">${of.hidden ? html`<p class="muted">Only operators see the stack.</p>` : html`<${Stack} of=${of.stack} />`}<//>
    <div class="two"><${Attempts} of=${of.attempts} /><${History} of=${of.history} /></div>`;
}

const Warnings = ({ of }) => html`
  ${of.resolvedAt && html`<div class="notice good">Resolved <${Time} at=${of.resolvedAt} /> by <${ResolvedBy} of=${of.resolvedBy} /></div>`}
  ${of.note && html`<div class="notice"><strong>Note: </strong><${Text} of=${of.note} /></div>`}
  ${of.redactedPaths.length > 0 && html`<div class="notice warn">Secrets were masked at ${of.redactedPaths.map(visible).join(', ')}; edit the payload and give them anew before requeueing.</div>`}
  ${of.faults.length > 0 && html`<div class="notice warn">The payload breaks its contract: ${of.faults.map(({ path, rule }) => html`<${Chip} of="${visible(path || 'payload')}: ${visible(rule)}" tone="warn" />`)}</div>`}`;

const ResolvedBy = ({ of }) =>
  /^[0-9a-f-]{36}$/.test(of)
    ? html`<a href="/batches/${of}">batch ${of.slice(0, 8)}</a>`
    : html`job <${Mono} of=${of} />`;

const Job = ({ of }) => html`
  <${Section} title="Job"><${Facts} of=${[
    ['Queue', of.queue],
    ['Job id', of.jobId, 'mono'],
    ['Job name', of.name],
    ['Last worker', of.lastWorkerId, 'mono'],
    ['Attempts', of.attemptsMade, 'number'],
    ['Requeued', `${count(of.replayCount)} ×`],
    ['Enqueued', of.enqueuedAt, 'when'],
    ['Failed', of.failedAt, 'when'],
    ['Dead-lettered', of.deadLetteredAt, 'when'],
    ['Requeued as', of.replayJobId, 'mono'],
    ['Trace', of.trace, 'mono'],
  ]} /><//>`;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FIRST = 20;
const shown = (n, format) => (Number.isFinite(n) ? format(n) : '–');

/** The files that a letter's job is about, by the two shapes that our own queues carry; nothing for the jobs of others. */
function Files({ payload }) {
  const files = Array.isArray(payload?.files) ? payload.files : payload?.fileId ? [payload] : [];
  const [most, showMore] = useState(FIRST);
  if (files.length === 0 || !files.every((file) => Number.isSafeInteger(file?.fileId))) return null;
  const batch =
    UUID.test(payload.id) &&
    html`<a href="/batches/${payload.id}">Batch of ${count(payload.totalTokens ?? 0)} tokens</a>`;
  const path = (of) =>
    html`<a href="/files/${of.fileId}"><${Mono} of=${of.path ?? of.filePath ?? of.fileId} /></a>`;
  return html`
    <${Section} title=${plural(files.length, 'file')} aside=${batch}>
      <${Table} items=${files.slice(0, most)} columns=${[
        ['File', path, 'wide'],
        ['Part', ({ part, parts }) => (parts > 1 ? `${part} of ${parts}` : '')],
        ['Tokens', ({ tokens }) => shown(tokens, count), 'number'],
        ['Size', ({ fileSize, start, end }) => shown(fileSize ?? end - start, bytes), 'number'],
      ]} />
      ${files.length > most && html`<p><button class="link" onClick=${() => showMore(files.length)}>${plural(files.length - most, 'more file')}</button></p>`}
    <//>`;
}

function Payload({ of, children }) {
  const save = () => attempt(() => download(`/dead-letters/${of.id}/payload`, `letter-${of.id}.json`));
  return html`
    <${Section} title="Payload" aside=${!of.hidden && html`<button class="quiet" onClick=${save}>Download</button>`}>
      ${of.hidden ? html`<p class="muted">Only operators see the payload.</p>` : children || html`<${Tree} of=${of.payload} masked=${of.redactedPaths} />`}
    <//>`;
}

const Attempts = ({ of }) => html`
  <${Section} title="Attempts">${of.length === 0 && html`<p class="muted">Nothing is recorded.</p>`}
    <ol class="timeline">${of.map(attempted)}</ol><//>`;

const attempted = ({ attempt: n, at, error }) => html`
  <li class="bad"><strong>Attempt ${n}</strong>${at && html`<span class="muted"> · ${moment(at)}</span>`}
    <div class="small"><${LongText} of=${error} class="mono" /></div></li>`;

const TONES = {
  ...{ requeued: 'good', restored: 'good', resolved: 'good', edited: 'info' },
  ...{ discarded: 'warn', reopened: 'bad', 'dead-lettered': 'bad' },
};

const History = ({ of }) => html`
  <${Section} title="History"><ol class="timeline">${of.map(
    ({ at, actor, event, details }) => html`<li class=${TONES[event] ?? ''}>
      <strong>${event}</strong><span class="muted"> · ${moment(at)} · <${Text} of=${actor} /></span>
      ${details.note && html`<div><${Text} of=${details.note} /></div>`}
      ${details.before && html`<details><summary class="small">before</summary><${Tree} of=${details.before} /></details>`}
      ${details.action && html`<div class="small"><a href="/bulk/${details.action}">bulk action</a></div>`}
    </li>`,
  )}</ol><//>`;

function parse(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: { message: `Not JSON: ${error.message}` } };
  }
}

const ask = () => confirmDialog('What you changed is not saved.', 'Leave without saving', { danger: true });

/** Edits a payload as JSON text, with the difference beside it; saves from the version that was read. */
function Editor({ letter: { id, version, payload }, done, cancel }) {
  const before = JSON.stringify(payload, null, 2);
  const [text, setText] = useState(before);
  const [error, setError] = useState(null);
  const area = useRef(null);
  const { value, fault } = parse(text);
  const changed = text !== before;
  const same = !fault && JSON.stringify(value) === JSON.stringify(payload);
  useEffect(() => area.current.focus(), []);
  useEffect(() => (changed ? guardLeaving(ask) : undefined), [changed]);
  const save = async (note) => {
    await patch(`/dead-letters/${id}/payload`, { payload: value, ...note }, { 'if-match': `"${version}"` });
    toast('Saved. The payload before is in the history.');
  };
  return html`
    <${Form} submit=${(note) => save(note).then(done, setError)} action="Save" disabled=${fault || same} cancel=${cancel}>
      <div class="two">
        <div><h3>New payload</h3><textarea ref=${area} rows=${Math.min(30, before.split('\n').length + 3)} spellcheck="false"
          aria-label="Payload as JSON" aria-describedby="edit-problem" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></div>
        <div><h3>Changes</h3><${Diff} before=${before} after=${fault ? before : JSON.stringify(value, null, 2)} /></div>
      </div>
      <div id="edit-problem">${(fault || error) && html`<${Problem} head="Not saved." error=${fault ?? error} />`}</div>
      <${Note} id="edit-note" />
    <//>`;
}
