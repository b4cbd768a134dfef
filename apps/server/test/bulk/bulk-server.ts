import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { type HttpRoute, ROUTES } from '@millrace/contract';
import { expect } from 'vitest';
import { defineApp } from '../../src/index.js';
import { type Received, type Sent, type ServeOptions, serve, type TestServer } from '../serve.js';

/** Keys of tests: of everybody, of two tenants, and one that may only look. */
export const KEYS = {
  admin: 'admin-secret-of-this-test-123',
  acme: 'acme-secret-of-this-test-1234',
  shop: 'shop-secret-of-this-test-1234',
  reader: 'reader-secret-of-this-test-12',
} as const;

const API_KEYS = `root:admin:${KEYS.admin},a:operate:acme:${KEYS.acme},s:operate:shop:${KEYS.shop},r:read:${KEYS.reader}`;

/** `sum` adds the numbers of its payloads; `fail` dies of what its payload says. */
const application = defineApp({
  processors: [
    defineProcessor({
      type: 'sum',
      process: ({ payload }) => ({ success: true, data: (payload as { n?: number } | null)?.n ?? 0 }),
    }),
    defineProcessor({
      type: 'fail',
      retry: { retries: 0 },
      process: ({ payload }) => {
        throw new Error(String((payload as { why?: string } | null)?.why ?? 'it is broken'));
      },
    }),
  ],
  aggregators: [
    defineAggregator<number, number>({
      type: 'sum',
      map: ({ data }) => Number(data),
      async reduce(numbers) {
        let total = 0;
        for await (const number of numbers) total += number;
        return total;
      },
    }),
  ],
  resources: { sum: { rps: 5_000 } },
});

/** A server with bulk jobs; every answer is compared with what the table of routes says of it. */
export async function serveBulk(settings: ServeOptions = {}): Promise<TestServer> {
  const server = await serve({ apiKeys: API_KEYS, application, ...settings });
  const send = async (path: string, { key = KEYS.admin, ...sent }: Sent = {}): Promise<Received> => {
    const received = await server.send(path, { key, ...sent });
    const method = sent.method ?? (sent.body === undefined ? 'GET' : 'POST');
    const route = routeOf(method, path);
    const answer = route?.responses[received.status];
    if (route) {
      expect(
        answer,
        `${method} ${path} may answer ${received.status}: ${JSON.stringify(received.body)}`,
      ).toBeDefined();
      expect(answer?.schema.parse(received.body)).toEqual(received.body);
    }
    return received;
  };
  return { ...server, send };
}

const routeOf = (method: string, path: string): HttpRoute | undefined =>
  (Object.values(ROUTES) as HttpRoute[]).find(
    (route) =>
      route.method === method &&
      new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] as string),
  );

/** A body of lines. */
export const lines = (...values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');

/** Headers of a body of lines. */
export const NDJSON = { 'content-type': 'application/x-ndjson' };

/** Jobs with ids, numbered. */
export const jobs = (count: number, more: object = {}): { id: string; processorType: string }[] =>
  Array.from({ length: count }, (_, n) => ({ id: `j${n}`, processorType: 'sum', payload: { n }, ...more }));
