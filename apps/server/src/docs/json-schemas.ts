import * as contract from '@millrace/contract';
import { z } from 'zod';
import { type JsonSchema, SCHEMA_REF } from './openapi-model.js';

/** Which side of a schema: what a caller may send, or what it gets. */
type SchemaSide = 'input' | 'output';

/** Schemas written as JSON Schema. */
export interface WrittenSchemas {
  /** A schema where it is used: a reference, where the contract has a name for it. */
  at(schema: z.ZodType, side: SchemaSide): JsonSchema;
  /** The named ones that something refers to. */
  namedBelow(roots: unknown): Readonly<Record<string, JsonSchema>>;
}

/** What the contract exports is what others know it by, so these names stay. */
const NAMES: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries(contract).flatMap(([name, value]) =>
    value instanceof z.ZodType ? [[value, name] as const] : [],
  ),
);

const INPUT_SUFFIX = 'Input';

/**
 * Writes schemas as JSON Schema. One whose two sides differ (it has defaults, or converts) has two names: the second ends in `Input`.
 */
export function writeSchemas(schemas: Iterable<z.ZodType>): WrittenSchemas {
  const ids = new Map<z.ZodType, string>(NAMES);
  for (const schema of schemas) if (!ids.has(schema)) ids.set(schema, `anonymous ${ids.size}`);
  const output = written(ids, 'output');
  const input = written(ids, 'input');
  const twofold = differing(input, output);
  const names = new Set(NAMES.values());
  const nameOf = (id: string, side: SchemaSide) =>
    side === 'input' && twofold.has(id) ? id + INPUT_SUFFIX : id;
  const read = (side: SchemaSide, id: string) => {
    const from = side === 'input' ? input : output;
    const inlined = (ref: string) => (names.has(ref) ? undefined : from[ref]);
    return rewritten(from[id] as JsonSchema, { nameOf: (ref) => nameOf(ref, side), inlined });
  };
  const components: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
    [...NAMES.values()].flatMap((id) => [
      [id, read('output', id)],
      ...(twofold.has(id) ? [[id + INPUT_SUFFIX, read('input', id)]] : []),
    ]),
  );
  return {
    at(schema, side) {
      const id = ids.get(schema) as string;
      return NAMES.has(schema) ? { $ref: SCHEMA_REF + nameOf(id, side) } : read(side, id);
    },
    namedBelow(roots) {
      const found = new Set<string>();
      const follow = (part: unknown) => {
        for (const name of refsIn(part)) {
          if (found.has(name)) continue;
          found.add(name);
          follow(components[name]);
        }
      };
      follow(roots);
      return Object.fromEntries([...found].toSorted().map((name) => [name, components[name] as JsonSchema]));
    },
  };
}

function written(ids: ReadonlyMap<z.ZodType, string>, io: SchemaSide): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of ids) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: (id) => SCHEMA_REF + id,
    // One side of what converts has no JSON Schema; it is the side that nobody sends.
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod as { def: { type: string; catchall?: unknown } };
      // Answers get new fields: only what is strict says that there are no others.
      if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
      // Every integer of JavaScript has these bounds.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $id: _, $schema: __, ...schema }]) => [id, schema as JsonSchema]),
  );
}

/** The ids whose two sides differ, by themselves or by what they refer to. */
function differing(
  input: Readonly<Record<string, JsonSchema>>,
  output: Readonly<Record<string, JsonSchema>>,
): ReadonlySet<string> {
  const ids = Object.keys(output);
  const found = new Set(ids.filter((id) => JSON.stringify(input[id]) !== JSON.stringify(output[id])));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const id of ids) if (refsIn(output[id]).some((name) => found.has(name))) found.add(id);
  }
  return found;
}

/** The names of all schemas that something refers to. */
function refsIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value.slice(SCHEMA_REF.length)] : refsIn(value),
  );
}

/** What references are made into. */
interface Rewriting {
  /** The name under which a named schema is found. */
  nameOf(id: string): string;
  /** One without a name, to stand where it is used; undefined for one that has a name. */
  inlined(id: string): JsonSchema | undefined;
}

function rewritten<T>(part: T, rewriting: Rewriting): T {
  if (Array.isArray(part)) return part.map((one) => rewritten(one, rewriting)) as T;
  if (typeof part !== 'object' || part === null) return part;
  const fields = Object.entries(part).map(([key, value]) => {
    if (key !== '$ref' || typeof value !== 'string') return { [key]: rewritten(value, rewriting) };
    const id = value.slice(SCHEMA_REF.length);
    const inlined = rewriting.inlined(id);
    return inlined ? { ...rewritten(inlined, rewriting) } : { $ref: SCHEMA_REF + rewriting.nameOf(id) };
  });
  return Object.assign({}, ...fields);
}
