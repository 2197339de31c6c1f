import { count, duration, moment } from '../format.js';
import { useRows } from '../hooks.js';
import { html } from '../preact.js';
import { ErrorText, ListTable, Meter, Sparkline, Text, Time } from './pieces.js';

const TITLES = [
  'Cause',
  { hidden: 'Share' },
  { number: 'Open' },
  { number: 'Total' },
  'Queues',
  'First seen',
  'Last seen',
];

export function GroupTable({ groups }) {
  const largest = Math.max(1, ...groups.map(({ open }) => open));
  const at = useRows(groups);
  return html`<${ListTable} titles=${TITLES}>
    ${groups.map((group, index) => html`<${Group} of=${group} largest=${largest} marked=${index === at} />`)}
  <//>`;
}

const Group = ({ of, largest, marked }) => html`
  <tr class=${marked ? 'marked' : ''}>
    <td class="wide"><a href="/groups/${of.id}" class="row-link"><${ErrorText} name=${of.errorName} message=${of.newest ?? of.message} max=${140} /></a>
      <div class="small muted second">${/[#<]/.test(of.message) && html`<${Text} of=${of.message} />`}<${Text} of=${of.frame} class="mono" /><${Tended} of=${of} /></div></td>
    <td class="meter-cell"><${Meter} value=${of.open} largest=${largest} /><${Sparkline} of=${of.recent} /></td>
    <td class="number" data-label="Open">${count(of.open)}</td>
    <td class="number muted" data-label="Total">${count(of.total)}</td>
    <td data-label="Queues" class="small">${of.queues.map(({ queue }) => html`<div><${Text} of=${queue} /></div>`)}</td>
    <td class="when" data-label="First"><${Time} at=${of.firstSeenAt} /></td>
    <td class="when" data-label="Last"><${Time} at=${of.lastSeenAt} /></td>
  </tr>`;

/** Who looks after a group, and whether it raises alerts. */
export const Tended = ({ of: { owner, mutedUntil } }) => html`
  ${owner && html`<span class="chip"><${Text} of=${owner} /></span>`}
  ${mutedUntil > Date.now() && html`<span class="chip" title=${moment(mutedUntil)}>muted for ${duration(mutedUntil - Date.now())}</span>`}`;
