import { type JsonSchema, SCHEMA_REF } from './openapi-model.js';

/** Schemas by name. */
export type NamedSchemas = Readonly<Record<string, JsonSchema>>;

/** Deeper than any body; what refers to itself ends here. */
const DEPTH_MAX = 8;

/**
 * A value that a schema accepts: its own example or default where it has one, else made up.
 * @param name - what the value is called where it stands; a text is best called the same.
 */
export function exampleOf(schema: JsonSchema, named: NamedSchemas, name = 'text'): unknown {
  return make(schema, { named, name, depth: 0 });
}

interface Place {
  readonly named: NamedSchemas;
  readonly name: string;
  readonly depth: number;
}

function make(schema: JsonSchema, place: Place): unknown {
  if (place.depth > DEPTH_MAX) return null;
  const below = { ...place, depth: place.depth + 1 };
  if (schema.$ref !== undefined) return make(place.named[schema.$ref.slice(SCHEMA_REF.length)] ?? {}, below);
  const given = [schema.const, schema.examples?.[0], schema.default, schema.enum?.[0]];
  const known = given.find((value) => value !== undefined);
  if (known !== undefined) return known;
  const choice = (schema.anyOf ?? schema.oneOf)?.find(({ type }) => type !== 'null');
  if (choice) return make(choice, below);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => make(part, below)));
  switch ([schema.type].flat().find((type) => type !== 'null')) {
    case 'object':
      return objectOf(schema, below);
    case 'array':
      return arrayOf(schema, below);
    case 'string':
      return textOf(schema, place.name);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    default:
      return schema.type === 'null' ? null : { any: 'JSON' };
  }
}

function objectOf(schema: JsonSchema, below: Place): Record<string, unknown> {
  const { properties = {}, additionalProperties: others, propertyNames } = schema;
  const fields = Object.entries(properties).map(([name, field]) => [name, make(field, { ...below, name })]);
  if (fields.length > 0 || typeof others !== 'object') return Object.fromEntries(fields);
  const key = String(make(propertyNames ?? { type: 'string' }, { ...below, name: 'name' }));
  return { [key]: make(others, below) };
}

function arrayOf({ items, prefixItems, minItems = 1 }: JsonSchema, below: Place): unknown[] {
  if (prefixItems) return prefixItems.map((item) => make(item, below));
  // `ids` holds an id.
  const name = below.name.replace(/s$/, '') || below.name;
  return Array.from({ length: Math.max(1, minItems) }, () => make(items ?? {}, { ...below, name }));
}

function numberOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, type }: JsonSchema): number {
  const step = [type].flat().includes('integer') ? 1 : 0.5;
  const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + step);
  const most =
    maximum ?? (exclusiveMaximum === undefined ? Number.POSITIVE_INFINITY : exclusiveMaximum - step);
  return Math.min(Math.max(least, 1), most);
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  uuid: '0198c0de-0000-7000-8000-000000000001',
  uri: 'https://example.com/',
  email: 'somebody@example.com',
};

/** Texts that are tried for a pattern, after the name itself. */
const CANDIDATES = ['a', '1', '10', 'true', 'A', '0 * * * *', 'UTC', ...Object.values(BY_FORMAT)];

function textOf({ format, pattern, minLength = 0, maxLength }: JsonSchema, name: string): string {
  const known = BY_FORMAT[format ?? ''];
  if (known !== undefined) return known;
  const snake = name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toUpperCase();
  const fits = (text: string) =>
    text.length <= (maxLength ?? Number.POSITIVE_INFINITY) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  const found = [name, snake, ...CANDIDATES].find(fits) ?? name;
  return found.padEnd(minLength, found);
}
