import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type HttpRoute, ListQuery, OPERATION_ROUTES, SubmitRequest } from '../src/index.js';

const ROUTES: readonly HttpRoute[] = Object.values(OPERATION_ROUTES);

describe('orchestrator FR-5: the table of routes', () => {
  it('orchestrator FR-5: it has every route of the specification, with the role that it needs', () => {
    expect(ROUTES.map(({ method, path, role }) => `${method} ${path} ${role}`).toSorted()).toEqual([
      'DELETE /api/operations/{opId} operate',
      'GET /api/operations read',
      'GET /api/operations/{opId}/events read',
      'GET /api/operations/{opId}/status read',
      'POST /api/operations operate',
    ]);
    expect(new Set(ROUTES.map(({ id }) => id)).size).toBe(ROUTES.length);
  });

  it('orchestrator FR-5: the text of POST says that completion at exactly the budget is answered 202', () => {
    const post = ROUTES.find(({ method }) => method === 'POST');
    expect(post?.description).toContain('Completion at exactly the budget is answered 202.');
    expect(Object.keys(post?.answers ?? {})).toEqual([
      '200',
      '202',
      '400',
      '404',
      '409',
      '422',
      '429',
      '500',
      '503',
    ]);
  });

  it('orchestrator FR-5: every schema can be written as JSON Schema, for OpenAPI 3.1', () => {
    for (const { id, params, query, body, answers, path } of ROUTES) {
      const inputs = [params, query, body].filter((schema) => schema !== undefined);
      for (const schema of inputs)
        expect(z.toJSONSchema(schema, { io: 'input' }), id).toMatchObject({ type: 'object' });
      for (const [status, answer] of Object.entries(answers)) {
        expect(z.toJSONSchema(answer.schema), `${id} ${status}`).toMatchObject({ type: 'object' });
        expect(answer.description).not.toBe('');
        const isProblem = Number(status) >= 400;
        expect(answer.contentType === 'application/problem+json').toBe(isProblem);
      }
      for (const [, name] of path.matchAll(/\{(\w+)\}/g))
        expect(Object.keys(params?.shape ?? {})).toContain(name);
    }
  });

  it('orchestrator FR-5: requests are strict in their JSON Schema too', () => {
    expect(z.toJSONSchema(SubmitRequest)).toMatchObject({
      additionalProperties: false,
      required: ['domain', 'eventType', 'bizKey'],
      properties: {
        domain: { pattern: '^[A-Z0-9_]{1,50}$' },
        bizKey: { minLength: 1, maxLength: 100 },
        idemKey: { minLength: 1, maxLength: 255 },
      },
    });
    expect(z.toJSONSchema(ListQuery, { io: 'input' })).toMatchObject({ additionalProperties: false });
  });
});
