import { download, openApi } from '../api.js';
import { useData } from '../hooks.js';
import { Heading, Section } from '../parts/pieces.js';
import { attempt } from '../parts/toast.js';
import { Tree } from '../parts/tree.js';
import { html } from '../preact.js';

/** The OpenAPI document as a page; the document itself is at /docs/openapi.json. */
export function DocsView() {
  return useData(openApi).show((api) => {
    const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method,
        tags: ['service'],
        ...operation,
      })),
    );
    const tags = [...new Set(operations.flatMap((operation) => operation.tags))];
    return html`
      <${Heading} title=${api.info.title}>
        <button onClick=${() => attempt(() => download('/docs/openapi.json', 'openapi.json', ''))}>openapi.json</button>
      <//>
      <p class="muted">${api.info.description}</p>
      ${tags.map(
        (tag) => html`<${Section} title=${tag}>
        ${operations.filter((one) => one.tags.includes(tag)).map((one) => html`<${Operation} of=${one} schemas=${api.components.schemas} />`)}
      <//>`,
      )}`;
  });
}

function Operation({ of: { method, path, summary, parameters = [], requestBody }, schemas }) {
  const body = requestBody?.content?.['application/json']?.schema;
  return html`
    <details class="operation">
      <summary><span class="chip method ${method}">${method.toUpperCase()}</span> <code>${path}</code> <span class="muted">${summary}</span></summary>
      <table class="plain"><tbody>${parameters.map(
        (one) => html`<tr>
        <th scope="row"><code>${one.name}</code></th><td>${one.in}</td><td>${one.description}</td>
        <td class="muted">${one.required && 'required'}</td></tr>`,
      )}</tbody></table>
      ${body && html`<${Tree} of=${body.$ref ? schemas[body.$ref.split('/').at(-1)] : body} />`}
    </details>`;
}
