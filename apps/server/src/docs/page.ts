import { exampleOf, type NamedSchemas } from './example-of.js';
import { type Html, html } from './html.js';
import type { OpenApiContent, OpenApiDocument, OpenApiOperation, OpenApiResponse } from './openapi-model.js';
import { fieldsOf, jsonText, parametersTable, typeOf } from './page-schemas.js';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** An OpenAPI document as a page to read. It has no script, and its style sheet is beside it. */
export function docsPage(document: OpenApiDocument): string {
  const { info, tags, paths, components } = document;
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ method, path, operation })),
  );
  const sections = tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags[0] === name),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the API</a>
<header>
<h1>${info.title} <span class="version">${info.version}</span></h1>
<p>${info.description}</p>
<p><a class="button" href="../openapi.json">OpenAPI document</a></p>
</header>
<div class="columns">
<nav aria-label="Routes">${sections.map(contents)}<p class="nav-tag"><a href="#types">Types</a></p></nav>
<main id="main">
${KEYS}
${sections.map(
  ({ name, entries: own }) => html`<section aria-labelledby="${tagId(name)}">
<h2 id="${tagId(name)}">${name}</h2>
${own.map((entry) => operationBlock(entry, components.schemas))}
</section>`,
)}
${typesSection(components.schemas)}
</main>
</div>
</body>
</html>
`;
  return page.text;
}

const KEYS = html`<section aria-labelledby="keys">
<h2 id="keys">Keys</h2>
<p>Send the secret of a key with every request: <code>Authorization: Bearer SECRET</code>. A server without keys answers its own machine only and needs none. Each role may do what those before it may:</p>
<dl class="roles">
<div><dt><span class="role role-none">none</span></dt><dd>needs no key</dd></div>
<div><dt><span class="role role-read">read</span></dt><dd>may look</dd></div>
<div><dt><span class="role role-operate">operate</span></dt><dd>may also change work</dd></div>
<div><dt><span class="role role-admin">admin</span></dt><dd>may also change what all share</dd></div>
</dl>
<p class="facts">In the tables <span class="needed">*</span> marks what must be given, or is always there.</p>
</section>`;

const tagId = (tag: string): string => `tag-${tag.toLowerCase().replaceAll(/\W+/g, '-')}`;

const contents = ({ name, entries }: { readonly name: string; readonly entries: readonly Entry[] }): Html =>
  html`<p class="nav-tag"><a href="#${tagId(name)}">${name}</a></p><ul>${entries.map(
    ({ operation, method }) =>
      html`<li><a href="#${operation.operationId}"><span class="dot dot-${method}"></span>${operation.summary}</a></li>`,
  )}</ul>`;

/** The id is inside: whoever follows a link to it finds the block open. */
function operationBlock({ method, path, operation }: Entry, named: NamedSchemas): Html {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const role = operation['x-role'];
  return html`<details class="operation operation-${method}">
<summary><span class="method method-${method}">${method.toUpperCase()}</span> <code class="path">${breakable(path)}</code> <span class="summary">${summary}</span> <span class="role role-${role}">${role}</span></summary>
<div class="operation-body" id="${operationId}">
<p>${description}</p>
<p class="facts">${TENANCY[operation['x-tenancy']]}</p>
${parameters && html`<h4>Parameters</h4>${parametersTable(parameters)}`}
${requestBody && html`<h4>Body</h4>${bodies(requestBody.content, named)}`}
<h4>Answers</h4>
<dl class="answers">${Object.entries(responses).map((entry) => answer(entry, named))}</dl>
</div>
</details>`;
}

const TENANCY: Readonly<Record<string, string>> = {
  own: 'A key of one tenant sees and changes only what is that tenant’s.',
  shared: 'Refused to keys of one tenant: it belongs to all of them.',
  open: 'The same for keys of one tenant.',
};

/** A long path may break before each part, and nowhere else. */
const breakable = (path: string): readonly Html[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => html`<wbr>/${part}`);

const bodies = (content: OpenApiContent, named: NamedSchemas): readonly Html[] =>
  Object.entries(content).map(
    ([type, { schema, example }]) => html`<p><code class="media">${type}</code> ${
      type === 'application/json' ? html`<code>${typeOf(schema)}</code>` : schema.description
    }</p>
${schema.$ref === undefined && type === 'application/json' && fieldsOf(schema)}
${type === 'application/json' && jsonText(example ?? exampleOf(schema, named))}`,
  );

function answer([status, response]: [string, OpenApiResponse], named: NamedSchemas): Html {
  const [type, body] = Object.entries(response.content ?? {})[0] ?? [];
  const isShown = body !== undefined && Number(status) < 400 && body.schema.type !== 'string';
  return html`<div class="answer"><dt><span class="status status-${status.charAt(0)}">${status}</span></dt><dd>${response.description}
${body && html` <span class="facts"><code class="media">${type}</code> <code>${typeOf(body.schema)}</code></span>`}
${
  response.headers &&
  html`<ul class="headers">${Object.entries(response.headers).map(
    ([name, { description }]) => html`<li><code>${name}</code> ${description}</li>`,
  )}</ul>`
}
${isShown && html`<details class="example"><summary>Example</summary>${jsonText(exampleOf(body.schema, named))}</details>`}
</dd></div>`;
}

const typesSection = (named: NamedSchemas): Html => html`<section aria-labelledby="types">
<h2 id="types">Types</h2>
${Object.entries(named).map(
  ([
    name,
    schema,
  ]) => html`<details class="type"><summary><code>${name}</code> <span class="summary">${schema.description}</span></summary>
<div class="operation-body" id="type-${name}">${fieldsOf(schema)}</div></details>`,
)}
</section>`;
