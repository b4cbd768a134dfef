import { type Html, html, type Inset } from './html.js';
import { type JsonSchema, type OpenApiParameter, SCHEMA_REF } from './openapi-model.js';

/** The type of a value, as a person reads it. */
export function typeOf(schema: JsonSchema): Inset {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(SCHEMA_REF.length);
    return html`<a href="#type-${name}">${name}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((choice, index) => [index > 0 && ' | ', typeOf(choice)]);
  if (schema.allOf) return schema.allOf.map((part, index) => [index > 0 && ' & ', typeOf(part)]);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === 'array') return [typeOf(schema.items ?? {}), '[]'];
  if (schema.type === 'object') return objectType(schema);
  const types = [schema.type ?? 'any JSON'].flat().join(' | ');
  return schema.format === undefined ? types : `${types} (${schema.format})`;
}

function objectType({ properties, additionalProperties }: JsonSchema): Inset {
  if (properties) return 'object';
  return typeof additionalProperties === 'object'
    ? ['{ name: ', typeOf(additionalProperties), ' }']
    : 'object';
}

const BOUNDS = [
  ['minimum', 'at least '],
  ['exclusiveMinimum', 'more than '],
  ['maximum', 'at most '],
  ['exclusiveMaximum', 'less than '],
  ['minLength', 'characters: at least '],
  ['maxLength', 'characters: at most '],
  ['minItems', 'entries: at least '],
  ['maxItems', 'entries: at most '],
  ['pattern', 'matches '],
] as const;

/** What limits a value. A format says more than the pattern that checks it. */
function limitsOf(schema: JsonSchema): Inset {
  const said = BOUNDS.filter(
    ([key]) => schema[key] !== undefined && !(key === 'pattern' && schema.format !== undefined),
  ).map(([key, words]) => words + schema[key]);
  const all = [
    ...said,
    ...(schema.default === undefined ? [] : [`${JSON.stringify(schema.default)} unless given`]),
  ];
  return all.length > 0 && html`<span class="limits">${all.join('; ')}</span>`;
}

const field = (name: string, isRequired: boolean, schema: JsonSchema, description: Inset): Html =>
  html`<tr><th scope="row"><code>${name}</code>${isRequired && html`<span class="needed" title="required">*</span>`}</th><td><code>${typeOf(schema)}</code></td><td>${description} ${limitsOf(schema)}</td></tr>`;

const table = (heads: readonly string[], rows: readonly Html[]): Html =>
  html`<div class="wide"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;

/** The fields of an object, or what else a schema is. */
export function fieldsOf(schema: JsonSchema): Html {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices && !schema.properties)
    return html`<p class="choices">One of:</p>${choices.map((choice) =>
      choice.properties ? fieldsOf(choice) : html`<p><code>${typeOf(choice)}</code></p>`,
    )}`;
  if (!schema.properties) return html`<p><code>${typeOf(schema)}</code> ${limitsOf(schema)}</p>`;
  return table(['Field', 'Type', 'What it is'], rowsOf(schema, ''));
}

/** A row for each field, and for those of objects that have no name and so no table of their own. */
function rowsOf({ properties = {}, required = [] }: JsonSchema, prefix: string): readonly Html[] {
  return Object.entries(properties).flatMap(([name, value]) => {
    const path = prefix + name;
    const [inner, mark] = value.items ? [value.items, '[].'] : [value, '.'];
    return [
      field(path, required.includes(name), value, value.description),
      ...(inner.$ref === undefined && inner.properties ? rowsOf(inner, path + mark) : []),
    ];
  });
}

/** What a request carries beside its body. */
export const parametersTable = (parameters: readonly OpenApiParameter[]): Html =>
  table(
    ['Parameter', 'Type', 'What it is'],
    parameters.map(({ name, in: where, required, schema, description }) =>
      field(name, required, schema, [html`<span class="where">${where}</span> `, description]),
    ),
  );

/** A value as JSON, to read. */
export const jsonText = (value: unknown): Html =>
  html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`;
