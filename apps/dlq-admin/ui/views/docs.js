import { download, get } from '../api.js';
import { useData } from '../hooks.js';
import { attempt } from '../parts/dialog.js';
import { Tree } from '../parts/payload.js';
import { Heading, Section } from '../parts/pieces.js';
import { html } from '../preact.js';

const ADDRESS = '/docs/openapi.json';

/** The OpenAPI document as a page. */
export const DocsView = () =>
  useData(() => get(ADDRESS)).show(({ paths, info, components }) => {
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({ path, method, tags: ['service'], ...one })),
    );
    const tags = [...new Set(operations.flatMap((operation) => operation.tags))];
    const under = (tag) => operations.filter((one) => one.tags.includes(tag));
    return html`
      <${Heading} title=${info.title}>
        <button onClick=${() => attempt(() => download(ADDRESS, 'openapi.json'))}>openapi.json</button>
      <//>
      <p class="muted">${info.description}</p>
      ${tags.map((tag) => html`<${Section} title=${tag}>${under(tag).map((one) => html`<${Operation} of=${one} schemas=${components.schemas} />`)}<//>`)}`;
  });

function Operation({ of: { method, path, summary, parameters = [], requestBody }, schemas }) {
  const body = requestBody?.content?.['application/json']?.schema;
  return html`
    <details>
      <summary><span class="chip running">${method.toUpperCase()}</span> <code>${path}</code> <span class="muted">${summary}</span></summary>
      <table class="plain"><tbody>${parameters.map(
        (one) => html`<tr>
        <th scope="row"><code>${one.name}</code></th><td>${one.in}</td><td>${one.description}</td>
        <td class="muted">${one.required && 'required'}</td></tr>`,
      )}</tbody></table>
      ${body && html`<${Tree} of=${body.$ref ? schemas[body.$ref.split('/').at(-1)] : body} />`}
    </details>`;
}
