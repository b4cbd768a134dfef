import { expect } from 'vitest';
import { z } from 'zod';
import type { HttpRoute } from '../src/index.js';

/** What a row of the table of routes says of who may ask it, in one line. */
export const rowOf = ({ method, path, role, tenancy, audited, streams }: HttpRoute): string =>
  [method, path, role, tenancy, audited && 'audited', streams && 'streams'].filter(Boolean).join(' ');

/** Every schema of a row. */
const schemasOf = ({
  id,
  params,
  query,
  body,
  answers,
}: HttpRoute): { what: string; schema: z.ZodType }[] => [
  ...Object.entries({ params, query, body }).flatMap(([part, schema]) =>
    schema ? [{ what: `${id} ${part}`, schema }] : [],
  ),
  ...Object.entries(answers).map(([status, { schema }]) => ({ what: `${id} ${status}`, schema })),
];

/**
 * Requires of rows that each schema can be written as JSON Schema, and that requests with unknown fields are refused.
 */
export function expectStrict(routes: readonly HttpRoute[]): void {
  for (const route of routes) {
    for (const { schema, what } of schemasOf(route))
      expect(z.toJSONSchema(schema, { io: 'input' }), what).toMatchObject({ type: 'object' });
    for (const schema of [route.query, route.body])
      if (schema)
        expect(z.toJSONSchema(schema, { io: 'input' }), route.id).toMatchObject({
          additionalProperties: false,
        });
  }
}
