import { download, get, may } from '../api.js';
import { moment, visible } from '../format.js';
import { useData } from '../hooks.js';
import { Chip, Empty, Heading, ListTable, Text } from '../parts/pieces.js';
import { attempt, toast } from '../parts/toast.js';
import { Tree } from '../parts/tree.js';
import { html } from '../preact.js';

const LINKS = { letter: '/letters/', bulk: '/bulk/', group: '/groups/' };

export function AuditView({ params }) {
  const target = params.get('target') ?? '';
  const page = useData(() => get('/audit', { limit: 50, target, cursor: params.get('cursor') }));
  const older = (cursor) => `/audit?${new URLSearchParams({ ...(target && { target }), cursor })}`;
  return html`
    <${Heading} title="Audit">${
      may('admin') &&
      html`
      <button onClick=${() => attempt(verify)}>Verify chain</button>
      <button onClick=${() => attempt(() => download('/audit/export?limit=200', 'audit.csv'))}>Export CSV</button>`
    }
    <//>
    ${target && html`<p>Only ${visible(target)}. <a href="/audit">All</a></p>`}
    ${page.show(({ items, next }) =>
      items.length === 0
        ? html`<${Empty}>Nothing was done yet.<//>`
        : html`<section class="card audit"><${ListTable} titles=${['When', 'Who', 'What', 'On', 'Result', 'Details']}>
            ${items.map((entry) => html`<${Entry} of=${entry} />`)}<//></section>
            ${next && html`<p><a class="button" href=${older(next)}>Older</a></p>`}`,
    )}`;
}

async function verify() {
  const report = await get('/audit/verify');
  if (report.state === 'intact') toast(`The chain of ${report.rows} rows is intact.`);
  else toast(`The chain is broken at row ${report.id}: ${report.problem}`, 'bad');
}

const Entry = ({ of }) => html`
  <tr>
    <td class="when">${moment(of.at)}</td>
    <td class="who-cell" data-label="Who"><${Text} of=${of.actor} />
      <div class="small muted"><${Text} of=${[of.role, of.ip].filter(Boolean).join(' · ')} /></div></td>
    <td data-label="What"><strong><${Text} of=${of.action} /></strong></td>
    <td data-label="On" class="mono small"><${Target} of=${of.target ?? ''} /></td>
    <td data-label="Result"><${Chip} of=${visible(of.result)} tone=${of.result === 'ok' ? 'completed' : 'warn'} />
      ${of.reason && html`<div class="small"><${Text} of=${of.reason} /></div>`}</td>
    <td>${
      (of.before || of.after) &&
      html`<details><summary class="small">before and after</summary>
      <div class="two"><${Tree} of=${of.before} /><${Tree} of=${of.after} /></div></details>`
    }</td>
  </tr>`;

function Target({ of }) {
  const [kind, id] = of.split(':');
  return LINKS[kind]
    ? html`<a href=${LINKS[kind] + id}><${Text} of=${of} /></a>`
    : html`<${Text} of=${of} />`;
}
