import { describe, expect, it } from 'vitest';
import { exampleOf } from '../../src/docs/example-of.js';
import type { JsonSchema } from '../../src/docs/openapi-model.js';

const CASES: readonly (readonly [JsonSchema, unknown])[] = [
  [{ type: 'string' }, 'text'],
  [{ type: 'string', pattern: '^[A-Z0-9_]{1,50}$' }, 'TEXT'],
  [{ type: 'string', pattern: '^\\d+$' }, '1'],
  [{ type: 'string', minLength: 6 }, 'textte'],
  [{ type: 'string', maxLength: 2 }, 'a'],
  [{ type: 'string', format: 'date-time', pattern: 'x' }, '2026-01-31T12:00:00.000Z'],
  [{ type: 'integer', minimum: 0 }, 1],
  [{ type: 'integer', minimum: 50 }, 50],
  [{ type: 'number', exclusiveMinimum: 3, maximum: 3.2 }, 3.2],
  [{ type: ['boolean', 'null'] }, true],
  [{ type: 'null' }, null],
  [{ type: 'integer', default: 7 }, 7],
  [{ enum: ['b', 'a'] }, 'b'],
  [{ type: 'number', examples: [200] }, 200],
  [{ anyOf: [{ type: 'null' }, { const: 'x' }] }, 'x'],
  [{ type: 'array', items: { type: 'string' }, minItems: 2 }, ['text', 'text']],
  [{ type: 'object', additionalProperties: { type: 'number' } }, { name: 1 }],
  [{ type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } }, { ids: ['id'] }],
  [
    {
      allOf: [{ type: 'object', properties: { a: { type: 'number' } } }, { $ref: '#/components/schemas/B' }],
    },
    { a: 1, b: true },
  ],
  [{}, { any: 'JSON' }],
];

describe('exampleOf', () => {
  const named = { B: { type: 'object', properties: { b: { type: 'boolean' } } } } as const;

  it.each(CASES)('%j', (schema, expected) => {
    expect(exampleOf(schema, named)).toEqual(expected);
  });

  it('ends for a schema that refers to itself', () => {
    const tree: JsonSchema = { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } } };
    expect(JSON.stringify(exampleOf(tree, { Tree: tree }))).toContain('null');
  });
});
