import { get, may } from '../api.js';
import { useData } from '../hooks.js';
import { Field, Form } from '../parts/form.js';
import { Chip } from '../parts/pieces.js';
import { html, useEffect } from '../preact.js';
import { go } from '../router.js';

const SHOWN = ['text', 'status', 'queue', 'error', 'group', 'action'];
const HIDDEN = ['name', 'worker', 'reason', 'from', 'until'];

/**
 * The filter as the address says it; every change of the form becomes an address. Open letters come first: who wants others
 * asks for them, or for `any`.
 */
export function filterOf(params) {
  const own = (name) => [...SHOWN, ...HIDDEN].includes(name) || name.startsWith('payload.');
  return { status: 'open', ...Object.fromEntries([...params].filter(([name, value]) => own(name) && value)) };
}

/** As the interface takes it. */
export const queryOf = ({ status, ...filter }) => (status === 'any' ? filter : { ...filter, status });

export const focusFilter = () => document.getElementById(may('operator') ? 'f-text' : 'f-queue')?.focus();

const search =
  ({ group, action }) =>
  (values) => {
    const { path, value, ...fields } = { ...(group && { group }), ...(action && { action }), ...values };
    for (const time of ['from', 'until'])
      if (fields[time]) fields[time] = String(new Date(fields[time]).getTime());
    if (path && value) fields[`payload.${path}`] = value;
    return go(`/letters?${new URLSearchParams(fields)}`);
  };

export function Filters({ filter, focus }) {
  const known = useData(suggestions).value;
  useEffect(() => void (focus && focusFilter()), []);
  const payload = Object.keys(filter).find((name) => name.startsWith('payload.')) ?? '';
  const field = (name, label, rest = {}) =>
    html`<${Field} name=${name} id="f-${name}" label=${label} value=${filter[name]} known=${known?.[name]} ...${rest} />`;
  const time = (name, label) =>
    field(name, label, { value: localTime(filter[name]), type: 'datetime-local' });
  return html`
    <${Form} submit=${search(filter)} action="Filter" class="card fields" role="search" aria-label="Filter letters">
      ${may('operator') && field('text', 'Text in payload or error', TEXT)}
      ${field('status', 'Status', { options: ['any', 'open', 'requeued', 'resolved', 'discarded'] })}
      ${field('queue', 'Queue')}
      ${field('error', 'Error')}
      <details class="more" open=${HIDDEN.some((name) => filter[name]) || payload !== ''}>
        <summary>More</summary>
        <div class="fields">
          ${field('name', 'Job name')}
          ${field('worker', 'Worker')}
          ${field('reason', 'Reason', { options: [['', 'any'], 'error', 'stalled', 'crash', 'invalid'] })}
          ${time('from', 'From')}
          ${time('until', 'Until')}
          ${may('operator') && field('path', 'Payload field', { value: payload.slice(8), placeholder: 'user.id' })}
          ${may('operator') && field('value', 'equals', { value: filter[payload] })}
        </div>
      </details>
      ${filter.group && html`<${Chip} of="group ${filter.group.slice(0, 12)}" />`}
      ${filter.action && html`<${Chip} of="bulk action ${filter.action.slice(0, 8)}" />`}
      <a class="button" href="/letters">Clear</a>
    <//>`;
}

const TEXT = { class: 'grow', type: 'search', minlength: 3, placeholder: 'literal, 3 characters or more' };

/** Names that letters carry, for the fields that ask for them. */
async function suggestions() {
  const groups = get('/groups', { status: 'any', limit: 50 });
  const [{ queues }, { items }] = await Promise.all([get('/stats'), groups]);
  const unique = (names) => [...new Set(names)].slice(0, 50);
  return {
    queue: unique(queues.map(({ queue }) => queue)),
    error: unique(items.map(({ errorName }) => errorName)),
    worker: unique(items.flatMap(({ workers }) => workers.map(({ worker }) => worker))),
  };
}

function localTime(text) {
  if (!text) return '';
  const ms = Number(text);
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
