import { type HttpRoute, PATHS, ROUTES } from '@millrace/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../src/docs/openapi-document.js';
import type { OpenApiOperation } from '../../src/docs/openapi-model.js';
import { serve, type TestServer } from '../serve.js';

const document = openApiDocument('1.2.3');
const OPERATIONS: readonly (readonly [string, string, OpenApiOperation])[] = Object.entries(
  document.paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [method, path, operation] as const),
);
const BY_ID = new Map(OPERATIONS.map(([, , operation]) => [operation.operationId, operation]));
const ROWS: readonly HttpRoute[] = Object.values(ROUTES);

/** Everything that is a JSON Schema by its place in the document. */
function* schemasIn(part: unknown, at: string): Generator<readonly [string, object]> {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, value] of Object.entries(part))
    if (key === 'schema') yield [`${at}/schema`, value];
    else yield* schemasIn(value, `${at}/${key}`);
}

function* refsIn(part: unknown): Generator<string> {
  if (typeof part !== 'object' || part === null) return;
  for (const [key, value] of Object.entries(part))
    if (key === '$ref') yield value as string;
    else yield* refsIn(value);
}

describe('the OpenAPI document', () => {
  it('has every route, once, under its own id, and nothing else', () => {
    const written = OPERATIONS.map(([method, path, { operationId }]) => [
      operationId,
      method.toUpperCase(),
      path,
    ]);
    expect(written.toSorted()).toEqual(
      Object.entries(PATHS)
        .map(([id, [method, path]]) => [id, method, path])
        .toSorted(),
    );
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3' } });
    expect(document.tags.map(({ name }) => name)).toEqual(
      [...new Set(ROWS.map(({ tag }) => tag))].toSorted(byFirstUse),
    );
  });

  it('declares each parameter of each path, and what a request needs', () => {
    for (const [, path, { operationId, parameters = [], responses }] of OPERATIONS) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = parameters.filter(({ in: where }) => where === 'path');
      expect(declared.map(({ name }) => name).toSorted(), operationId).toEqual(names.toSorted());
      expect(declared.every(({ required }) => required)).toBe(true);
      const keys = parameters.map(({ name, in: where }) => `${where} ${name.toLowerCase()}`);
      expect(new Set(keys).size, operationId).toBe(keys.length);
      expect(
        Object.keys(responses).some((status) => Number(status) < 400),
        operationId,
      ).toBe(true);
      for (const { description } of Object.values(responses)) expect(description).not.toBe('');
    }
  });

  it('says who may ask', () => {
    for (const { id, role, tenancy } of ROWS)
      expect(BY_ID.get(id), id).toMatchObject({
        'x-role': role,
        'x-tenancy': tenancy,
        security: role === 'none' ? [] : [{ bearer: [] }],
      });
    expect(BY_ID.get('scalePool')?.responses['403']?.description).toContain('admin');
    expect(BY_ID.get('getLive')?.responses).not.toHaveProperty('401');
  });

  it('refers only to what it has, and has only what is referred to', () => {
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...new Set(refsIn(document))].toSorted()).toEqual(names.toSorted());
    expect(names.length).toBeGreaterThan(10);
  });

  it('holds valid JSON Schema, and examples of bodies that it accepts', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'openapi', components: document.components } as object);
    const rooted = (schema: object) =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as object;
    const schemas = [...schemasIn(document.paths, ''), ...Object.entries(document.components.schemas)];
    for (const [at, schema] of schemas) expect(ajv.validateSchema(schema as object), at).toBe(true);
    for (const { operationId, requestBody } of BY_ID.values()) {
      const json = requestBody?.content['application/json'];
      if (!json) continue;
      const accepts = ajv.compile(rooted(json.schema));
      expect(accepts(json.example), `${operationId} ${JSON.stringify(accepts.errors)}`).toBe(true);
      // Rules that JSON Schema cannot say: such a schema gives its own example, by .meta({ examples }).
      const { success, error } =
        ROWS.find(({ id }) => id === operationId)?.body?.safeParse(json.example) ?? {};
      expect(success, `${operationId} ${error?.message}`).toBe(true);
    }
  });

  it('gives a schema that is sent and answered one name, or two where they differ', () => {
    const { schemas } = document.components;
    expect(schemas).toHaveProperty('Problem');
    expect(schemas.SubmitRequest).toMatchObject({ additionalProperties: false });
    expect(schemas.Problem).not.toHaveProperty('additionalProperties');
    for (const name of Object.keys(schemas)) expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
  });
});

/** Tags stand in the order in which PATHS first has them. */
function byFirstUse(a: string, b: string): number {
  const ids = Object.keys(PATHS);
  const first = (tag: string) =>
    Math.min(...ROWS.filter((row) => row.tag === tag).map(({ id }) => ids.indexOf(id)));
  return first(a) - first(b);
}

describe('a server with documentation', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve({ apiKeys: 'somebody:read:012345678901234567890123' });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('serves every route that the document has', async () => {
    // Without a key whatever is there is refused before it does anything, and what is not there is not found.
    const statuses = await Promise.all(
      ROWS.map(async (route) => {
        const path = route.path.replaceAll(/\{\w+\}/g, 'x');
        const { status } = await server.send(path, { method: route.method });
        return [route.id, route.role === 'none' ? status < 400 : status === 401];
      }),
    );
    expect(statuses.filter(([, isServed]) => !isServed)).toEqual([]);
    expect((await server.send('/api/nothing')).status).toBe(404);
  });

  it('sends the document, the page and its style sheet, and not again to whoever has them', async () => {
    for (const [path, type] of [
      ['/openapi.json', 'application/json'],
      ['/api/docs', 'text/html'],
      ['/api/docs/style.css', 'text/css'],
    ] as const) {
      const { status, headers, body } = await server.send(path);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`);
      expect(body).not.toBe('');
      const etag = headers.get('etag') as string;
      const again = await server.send(path, { headers: { 'if-none-match': `"other", W/${etag}` } });
      expect(again).toMatchObject({ status: 304, body: '' });
      expect((await server.send(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    }
    const { body } = await server.send('/openapi.json');
    expect(body.paths).toEqual(JSON.parse(JSON.stringify(document.paths)));
  });
});
