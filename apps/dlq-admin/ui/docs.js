import { askOtherTabs, download, openApi } from './api.js';
import { byId, h, replace } from './dom.js';
import { heading, section } from './parts/pieces.js';
import { tree } from './parts/tree.js';

// The OpenAPI document as a page; the document itself is at /docs/openapi.json.
await askOtherTabs();
const document = await openApi();

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
);
const tags = [...new Set(operations.flatMap(({ tags: own = ['service'] }) => own))];

replace(
  byId('main'),
  heading(
    document.info.title,
    h('a', { class: 'button', href: '/' }, 'To the page'),
    h('button', { on: { click: () => download('/docs/openapi.json', 'openapi.json', '') } }, 'openapi.json'),
  ),
  h('p', { class: 'muted' }, document.info.description),
  tags.map((tag) =>
    section(tag, operations.filter(({ tags: own = ['service'] }) => own.includes(tag)).map(view)),
  ),
);

function view({ method, path, summary, parameters = [], requestBody }) {
  const body = requestBody?.content?.['application/json']?.schema;
  return h(
    'details',
    { class: 'operation' },
    h(
      'summary',
      {},
      h('span', { class: `chip method ${method}` }, method.toUpperCase()),
      ' ',
      h('code', {}, path),
      ' ',
      h('span', { class: 'muted' }, summary ?? ''),
    ),
    parameters.length > 0 &&
      h(
        'table',
        { class: 'plain' },
        h(
          'tbody',
          {},
          parameters.map((one) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, h('code', {}, one.name)),
              h('td', {}, one.in),
              h('td', {}, one.description ?? ''),
              h('td', { class: 'muted' }, one.required ? 'required' : ''),
            ),
          ),
        ),
      ),
    body && tree(resolve(body)),
  );
}

function resolve(schema) {
  const name = schema.$ref?.split('/').at(-1);
  return name ? document.components.schemas[name] : schema;
}
