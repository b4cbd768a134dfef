import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { defineApp } from '../../src/index.js';
import { type ServeOptions, serve, type TestServer } from '../serve.js';

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

/** A server with bulk jobs. Requests are sent with the key of the admin unless a test sets another. */
export async function serveBulk(settings: ServeOptions = {}): Promise<TestServer> {
  const server = await serve({ apiKeys: API_KEYS, application, ...settings });
  return {
    ...server,
    send: (path, { key = KEYS.admin, ...sent } = {}) => server.send(path, { key, ...sent }),
  };
}

/** A body of lines. */
export const lines = (...values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');

/** Headers of a body of lines. */
export const NDJSON = { 'content-type': 'application/x-ndjson' };

/** Jobs with ids, numbered. */
export const jobs = (count: number, more: object = {}): { id: string; processorType: string }[] =>
  Array.from({ length: count }, (_, n) => ({ id: `j${n}`, processorType: 'sum', payload: { n }, ...more }));
