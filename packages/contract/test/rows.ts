import type { z } from 'zod';
import type { HttpRoute } from '../src/index.js';

/**
 * What a row of the table of routes says of who may ask it, in one line.
 * @param route - the row.
 */
export const rowOf = ({ method, path, role, tenancy, audited, streams }: HttpRoute): string =>
  [method, path, role, tenancy, audited && 'audited', streams && 'streams'].filter(Boolean).join(' ');

/**
 * Every schema of a row.
 * @param route - the row.
 */
export const schemasOf = ({
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
