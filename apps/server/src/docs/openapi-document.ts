import { type HttpResponse, type HttpRoute, PATHS, ROUTES, type RouteId } from '@millrace/contract';
import type { z } from 'zod';
import { NDJSON } from '../http/bodies.js';
import { exampleOf, type NamedSchemas } from './example-of.js';
import { type WrittenSchemas, writeSchemas } from './json-schemas.js';
import type {
  JsonSchema,
  OpenApiContent,
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiResponse,
} from './openapi-model.js';

const DESCRIPTION =
  'Fair, rate-limited bulk jobs, batches of dependent tasks, and commands that return their outcome if they are quick. ' +
  'Errors are RFC 9457 problems: read their code. {name} in the text of an error stands for a value. ' +
  'Unknown fields are refused. Lists have cursors. An id of another tenant is written tenant/id (%2F in a path).';

const TEXT: JsonSchema = { type: 'string' };
const BEARER = 'bearer';

/** Writes the table of routes as an OpenAPI 3.1 document. */
export function openApiDocument(version: string): OpenApiDocument {
  const routes = routesInOrder();
  const schemas = writeSchemas(routes.flatMap(schemasOf));
  const operations = routes.map((route) => operationOf(route, schemas));
  const named = schemas.namedBelow(operations);
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [index, { path, method }] of routes.entries()) {
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = withExample(operations[index] as OpenApiOperation, named);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This server.' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: named,
      securitySchemes: {
        [BEARER]: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The secret of an API key. A server without keys, which listens to its own machine only, needs none.',
        },
      },
    },
  };
}

/** In the order of PATHS, which tells a story. */
const routesInOrder = (): HttpRoute[] => (Object.keys(PATHS) as RouteId[]).map((id) => ROUTES[id]);

function schemasOf(route: HttpRoute): z.ZodType[] {
  const { params, query, body } = route;
  const fields = [params, query].flatMap((schema) => Object.values(schema?.shape ?? {}) as z.ZodType[]);
  const responses = Object.values(route.responses).filter(hasBody);
  return [...fields, ...(body ? [body] : []), ...responses.map(({ schema }) => schema)];
}

const hasBody = ({ contentType }: HttpResponse): boolean => contentType !== '';

function operationOf(route: HttpRoute, schemas: WrittenSchemas): OpenApiOperation {
  const { id, tag, summary, description, role, tenancy } = route;
  const parameters = parametersOf(route, schemas);
  const content = bodyOf(route, schemas);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    'x-role': role,
    'x-tenancy': tenancy,
    security: role === 'none' ? [] : [{ [BEARER]: [] }],
    ...(parameters.length > 0 && { parameters }),
    // One that is left out is read as {}.
    ...(content && { requestBody: { required: !route.body?.safeParse({}).success, content } }),
    responses: Object.fromEntries(
      Object.entries(route.responses).map(([status, response]) => [status, responseOf(response, schemas)]),
    ),
  };
}

function parametersOf(
  { params, query, headers = {} }: HttpRoute,
  schemas: WrittenSchemas,
): OpenApiParameter[] {
  const fields = (schema: z.ZodObject | undefined, where: 'path' | 'query') =>
    Object.entries(schema?.shape ?? {}).map(([name, field]): OpenApiParameter => {
      const { description, ...written } = schemas.at(field as z.ZodType, 'input');
      const required = where === 'path' || !(field as z.ZodType).safeParse(undefined).success;
      return {
        name,
        in: where,
        required,
        ...(description !== undefined && { description }),
        schema: written,
      };
    });
  const sent = Object.entries(headers).map(
    ([name, description]): OpenApiParameter => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: TEXT,
    }),
  );
  return [...fields(params, 'path'), ...fields(query, 'query'), ...sent];
}

function bodyOf({ body, ndjson }: HttpRoute, schemas: WrittenSchemas): OpenApiContent | undefined {
  if (!body && ndjson === undefined) return undefined;
  return {
    ...(body && { 'application/json': { schema: schemas.at(body, 'input') } }),
    ...(ndjson !== undefined && { [NDJSON]: { schema: { ...TEXT, description: ndjson } } }),
  };
}

function responseOf(response: HttpResponse, schemas: WrittenSchemas): OpenApiResponse {
  const { description, contentType, schema, headers } = response;
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, says]) => [name, { description: says, schema: TEXT }]),
      ),
    }),
    ...(hasBody(response) && { content: { [contentType]: { schema: schemas.at(schema, 'output') } } }),
  };
}

/** After everything else: an example is made of what the body refers to. */
function withExample(operation: OpenApiOperation, named: NamedSchemas): OpenApiOperation {
  const json = operation.requestBody?.content['application/json'];
  if (!operation.requestBody || !json) return operation;
  const content = {
    ...operation.requestBody.content,
    'application/json': { ...json, example: exampleOf(json.schema, named) },
  };
  return { ...operation, requestBody: { ...operation.requestBody, content } };
}
