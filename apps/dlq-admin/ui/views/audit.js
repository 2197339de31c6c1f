import { download, get, may } from '../api.js';
import { moment, visible } from '../format.js';
import { useData } from '../hooks.js';
import { attempt, toast } from '../parts/dialog.js';
import { Tree } from '../parts/payload.js';
import { Chip, Heading, Section, Table, Text } from '../parts/pieces.js';
import { html } from '../preact.js';

const LINKS = { letter: '/letters/', bulk: '/bulk/', group: '/groups/' };

export function AuditView({ params }) {
  const target = params.get('target') ?? '';
  const page = useData(() => get('/audit', { limit: 50, target, cursor: params.get('cursor') }));
  const older = (cursor) => `/audit?${new URLSearchParams({ ...(target && { target }), cursor })}`;
  return html`
    <${Heading} title="Audit">${
      may('admin') &&
      html`<button onClick=${() => attempt(verify)}>Verify chain</button>
      <button onClick=${() => attempt(() => download('/audit/export?limit=200', 'audit.csv'))}>Export CSV</button>`
    }<//>
    ${target && html`<p>Only ${visible(target)}. <a href="/audit">All</a></p>`}
    ${page.show(
      ({ items, next }) => html`
        <${Section}><${Table} items=${items} columns=${COLUMNS} empty="Nothing was done yet." /><//>
        ${next && html`<p><a class="button" href=${older(next)}>Older</a></p>`}`,
    )}`;
}

async function verify() {
  const report = await get('/audit/verify');
  if (report.state === 'intact') toast(`The chain of ${report.rows} rows is intact.`);
  else toast(`The chain is broken at row ${report.id}: ${report.problem}`, 'bad');
}

const COLUMNS = [
  ['When', ({ at }) => moment(at), 'when bare'],
  ['Who', who, 'who-cell'],
  ['What', ({ action }) => html`<strong><${Text} of=${action} /></strong>`],
  ['On', targetOf, 'mono small'],
  ['Result', resultOf],
  ['Details', details, 'bare'],
];

function who({ actor, role, ip }) {
  return html`<${Text} of=${actor} /><div class="small muted"><${Text} of=${[role, ip].filter(Boolean).join(' · ')} /></div>`;
}

function targetOf({ target }) {
  const [kind, id] = (target ?? '').split(':');
  const text = html`<${Text} of=${target ?? ''} />`;
  return LINKS[kind] ? html`<a href=${LINKS[kind] + id}>${text}</a>` : text;
}

function resultOf({ result, reason }) {
  return html`<${Chip} of=${visible(result)} tone=${result === 'ok' ? 'completed' : 'warn'} />
    ${reason && html`<div class="small"><${Text} of=${reason} /></div>`}`;
}

function details({ before, after }) {
  if (!before && !after) return null;
  return html`<details><summary class="small">before and after</summary>
    <div class="two"><${Tree} of=${before} /><${Tree} of=${after} /></div></details>`;
}
