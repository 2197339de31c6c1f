import { get, may } from '../api.js';
import { useData } from '../hooks.js';
import { Chip } from '../parts/pieces.js';
import { html, useEffect, useRef } from '../preact.js';
import { go } from '../router.js';

const FIELDS = [
  'text',
  'status',
  'queue',
  'error',
  'name',
  'worker',
  'reason',
  'group',
  'action',
  'from',
  'until',
];
const HIDDEN = ['name', 'worker', 'reason', 'from', 'until'];

/**
 * The filter as the address says it; every change of the form becomes an address. Open letters come first: who wants others
 * asks for them, or for `any`.
 */
export function filterOf(params) {
  const own = (name) => FIELDS.includes(name) || name.startsWith('payload.');
  return { status: 'open', ...Object.fromEntries([...params].filter(([name, value]) => own(name) && value)) };
}

/** As the interface takes it. */
export const queryOf = ({ status, ...filter }) => (status === 'any' ? filter : { ...filter, status });

function addressOf(data, { group, action }) {
  const params = new URLSearchParams({ ...(group && { group }), ...(action && { action }) });
  for (const name of FIELDS) {
    const value = String(data.get(name) ?? '').trim();
    const time = name === 'from' || name === 'until';
    if (value) params.set(name, time ? String(new Date(value).getTime()) : value);
  }
  if (data.get('path') && data.get('value')) params.set(`payload.${data.get('path')}`, data.get('value'));
  return params;
}

export function Filters({ filter, focus }) {
  const form = useRef(null);
  const known = useData(suggestions).value;
  useEffect(() => {
    if (focus) form.current.querySelector('input')?.focus();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    void go(`/letters?${addressOf(new FormData(event.target), filter)}`);
  };
  const payload = Object.keys(filter).find((name) => name.startsWith('payload.')) ?? '';
  return html`
    <form ref=${form} class="card filters" role="search" aria-label="Filter letters" onSubmit=${submit}>
      ${may('operator') && html`<${Field} name="text" label="Text in payload or error" filter=${filter} class="grow" type="search" minlength="3" placeholder="literal text, 3 characters or more" />`}
      <${Choice} name="status" label="Status" filter=${filter} any="any" of=${['open', 'requeued', 'resolved', 'discarded']} />
      <${Field} name="queue" label="Queue" filter=${filter} known=${known?.queue} />
      <${Field} name="error" label="Error" filter=${filter} known=${known?.error} />
      <details class="more" open=${HIDDEN.some((name) => filter[name]) || payload !== ''}>
        <summary>More</summary>
        <${More} filter=${filter} payload=${payload} known=${known} />
      </details>
      ${filter.group && html`<${Chip} of="group ${filter.group.slice(0, 12)}" />`}
      ${filter.action && html`<${Chip} of="bulk action ${filter.action.slice(0, 8)}" />`}
      <div class="submit"><button class="primary">Filter</button><a class="button" href="/letters">Clear</a></div>
    </form>`;
}

const More = ({ filter, payload, known }) => html`
  <div class="fields">
    <${Field} name="name" label="Job name" filter=${filter} />
    <${Field} name="worker" label="Worker" filter=${filter} known=${known?.worker} />
    <${Choice} name="reason" label="Reason" filter=${filter} of=${['error', 'stalled', 'crash', 'invalid']} />
    <${Field} name="from" label="From" filter=${{ from: localTime(filter.from) }} type="datetime-local" />
    <${Field} name="until" label="Until" filter=${{ until: localTime(filter.until) }} type="datetime-local" />
    ${
      may('operator') &&
      html`
      <${Field} name="path" label="Payload field" filter=${{ path: payload.slice(8) }} placeholder="user.id" />
      <${Field} name="value" label="equals" filter=${{ value: filter[payload] }} />`
    }
  </div>`;

const Field = ({ name, label, filter, known = null, class: className = '', ...rest }) => html`
  <div class=${className}>
    <label for="f-${name}">${label}</label>
    <input id="f-${name}" name=${name} defaultValue=${filter[name] ?? ''} list=${known ? `l-${name}` : undefined} ...${rest} />
    ${known && html`<datalist id="l-${name}">${known.map((value) => html`<option value=${value}></option>`)}</datalist>`}
  </div>`;

const Choice = ({ name, label, filter, of, any = '' }) => html`
  <div>
    <label for="f-${name}">${label}</label>
    <select id="f-${name}" name=${name}>
      <option value=${any} selected=${filter[name] === any}>any</option>
      ${of.map((value) => html`<option value=${value} selected=${filter[name] === value}>${value}</option>`)}
    </select>
  </div>`;

/** Names that letters carry, for the fields that ask for them. */
async function suggestions() {
  const [{ queues }, { items }] = await Promise.all([
    get('/stats'),
    get('/groups', { status: 'any', limit: 50 }),
  ]);
  const worker = items.flatMap(({ workers }) => workers.map(({ worker: name }) => name));
  const unique = (names) => [...new Set(names)].slice(0, 50);
  return {
    queue: unique(queues.map(({ queue }) => queue)),
    error: unique(items.map(({ errorName }) => errorName)),
    worker: unique(worker),
  };
}

function localTime(text) {
  if (!text) return '';
  const ms = Number(text);
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
